// Program spread-reference answers what kube-scheduler's own PodTopologySpread plugin says.
package main

import "berth.dev/controlplane/harness"

func main() {
	harness.Main("spread-reference", (*Case).answer)
}
