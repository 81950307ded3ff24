package harness

import fwk "k8s.io/kube-scheduler/framework"

// Status is the name of a status code, and the reasons given.
type Status struct {
	Code    string   `json:"code"`
	Reasons []string `json:"reasons,omitempty"`
}

// StatusOf takes no status for success, as the framework does.
func StatusOf(status *fwk.Status) Status {
	if status == nil {
		return Status{Code: fwk.Success.String()}
	}
	return Status{Code: status.Code().String(), Reasons: status.Reasons()}
}
