//! The same smoke with every kube-scheduler that `docs/compatibility.md` names. The test command runs it with the one that all
//! other tests use, and with the newest; `make versions` with the others too.

mod release;
mod smoke;

use anyhow::Result;

use release::Release;
use smoke::smoke;

#[tokio::test]
async fn kube_scheduler_of_the_other_tests() -> Result<()> {
    smoke(&Release::usual()?).await
}

#[tokio::test]
async fn kube_scheduler_1_37_with_its_own_api_server() -> Result<()> {
    smoke(&Release::further("1.37")?).await
}

#[tokio::test]
#[ignore = "the test command does not build this version; run it with `make versions`"]
async fn kube_scheduler_1_35() -> Result<()> {
    smoke(&Release::further("1.35")?).await
}

#[tokio::test]
#[ignore = "the test command does not build this version; run it with `make versions`"]
async fn kube_scheduler_1_34() -> Result<()> {
    smoke(&Release::further("1.34")?).await
}
