// Program fit-reference answers what kube-scheduler's own plugins say about whether a pod fits on
// nodes, and which numbers they work with.
package main

import "berth.dev/controlplane/harness"

func main() {
	harness.Main("fit-reference", (*Case).answer)
}
