package main

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
)

func amountsOf(resource fwk.Resource) Amounts {
	amounts := make(Amounts)
	set := func(name v1.ResourceName, amount int64) {
		if amount != 0 {
			amounts[string(name)] = amount
		}
	}
	for name, amount := range resource.GetScalarResources() {
		set(name, amount)
	}
	set(v1.ResourceCPU, resource.GetMilliCPU())
	set(v1.ResourceMemory, resource.GetMemory())
	set(v1.ResourceEphemeralStorage, resource.GetEphemeralStorage())
	return amounts
}

// requestsOf finds what NodeResourcesFit made out of the pod's requests. Its type is not exported, but
// the fields are.
func requestsOf(state fwk.CycleState) (Amounts, error) {
	data, err := state.Read("PreFilter" + noderesources.Name)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	var resource framework.Resource
	if err := json.Unmarshal(text, &resource); err != nil {
		return nil, err
	}
	return amountsOf(&resource), nil
}
