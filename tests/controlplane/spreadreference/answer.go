package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"berth.dev/controlplane/harness"
)

// cycle is one pod's way through the scheduler.
type cycle struct {
	scheduler  *scheduler
	pod        *v1.Pod
	candidates []fwk.NodeInfo
}

// answer runs all parts, each with a state of its own, so that none can lean on another.
func (asked *Case) answer() (any, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answer := Answer{ID: asked.ID}
	cycle, err := newCycle(ctx, asked)
	if err == nil {
		answer.Filter, err = cycle.filter(ctx)
	}
	if err == nil {
		answer.DryRun, answer.Afterwards, err = cycle.preempt(ctx, asked)
	}
	if err == nil {
		answer.Score, err = cycle.score(ctx)
	}
	return answer, err
}

func newCycle(ctx context.Context, asked *Case) (*cycle, error) {
	if asked.Pod == nil {
		return nil, fmt.Errorf("no pod to place")
	}
	snapshot := harness.NewSnapshot(asked.Pods, asked.Nodes)
	scheduler, err := newScheduler(ctx, asked, snapshot)
	if err != nil {
		return nil, err
	}
	cycle := &cycle{scheduler: scheduler, pod: asked.Pod}
	for _, name := range asked.Candidates {
		node, err := snapshot.NodeInfos().Get(name)
		if err != nil {
			return nil, fmt.Errorf("candidate %q: %w", name, err)
		}
		cycle.candidates = append(cycle.candidates, node)
	}
	return cycle, nil
}

// prepare looks at all nodes. Where spreading does not concern the pod, the state says so.
func (c *cycle) prepare(ctx context.Context) (fwk.CycleState, error) {
	state := framework.NewCycleState()
	if _, status, _ := c.scheduler.RunPreFilterPlugins(ctx, state, c.pod); !status.IsSuccess() {
		return nil, status.AsError()
	}
	return state, nil
}

// filter asks about the candidates.
func (c *cycle) filter(ctx context.Context) (*Filter, error) {
	state, err := c.prepare(ctx)
	if err != nil {
		return nil, err
	}
	if state.GetSkipFilterPlugins().Has(spreadName) {
		return &Filter{PreFilter: Status{Code: fwk.Skip.String()}}, nil
	}
	filter := &Filter{PreFilter: harness.StatusOf(nil)}
	for _, node := range c.candidates {
		status, err := c.verdict(ctx, state, node)
		if err != nil {
			return nil, err
		}
		filter.Nodes = append(filter.Nodes, status)
	}
	return filter, nil
}

func (c *cycle) verdict(ctx context.Context, state fwk.CycleState, node fwk.NodeInfo) (Status, error) {
	status := c.scheduler.RunFilterPluginsWithNominatedPods(ctx, state, c.pod, node)
	if status.Code() == fwk.Error {
		return Status{}, status.AsError()
	}
	return harness.StatusOf(status), nil
}

// score takes the candidates for the nodes that passed every filter.
func (c *cycle) score(ctx context.Context) (*Score, error) {
	spread, state := c.scheduler.spread, framework.NewCycleState()
	status := spread.PreScore(ctx, state, c.pod, c.candidates)
	if status.Code() == fwk.Error {
		return nil, status.AsError()
	}
	score := &Score{PreScore: harness.StatusOf(status)}
	if !status.IsSuccess() {
		return score, nil
	}
	list := make(fwk.NodeScoreList, len(c.candidates))
	for i, node := range c.candidates {
		raw, status := spread.Score(ctx, state, c.pod, node)
		if !status.IsSuccess() {
			return nil, status.AsError()
		}
		list[i] = fwk.NodeScore{Name: node.Node().Name, Score: raw}
		score.Raw = append(score.Raw, raw)
	}
	if status := spread.NormalizeScore(ctx, state, c.pod, list); !status.IsSuccess() {
		return nil, status.AsError()
	}
	for _, node := range list {
		score.Normalized = append(score.Normalized, node.Score)
	}
	return score, nil
}
