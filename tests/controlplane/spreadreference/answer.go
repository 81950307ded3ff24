package main

import (
	"context"
	"fmt"
	"runtime/debug"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
)

// cycle is one pod's way through the plugin.
type cycle struct {
	plugin     *podtopologyspread.PodTopologySpread
	pod        *v1.Pod
	all        []fwk.NodeInfo
	candidates []fwk.NodeInfo
}

// answer runs both halves, each with a state of its own, so that neither can lean on the other.
func (asked *Case) answer() (answer Answer) {
	answer.ID = asked.ID
	defer func() {
		if panicked := recover(); panicked != nil {
			answer = Answer{ID: asked.ID, Error: fmt.Sprintf("panic: %v\n%s", panicked, debug.Stack())}
		}
	}()
	ctx := context.Background()
	cycle, err := newCycle(ctx, asked)
	if err == nil {
		answer.Filter, err = cycle.filter(ctx)
	}
	if err == nil {
		answer.Score, err = cycle.score(ctx)
	}
	if err != nil {
		return Answer{ID: asked.ID, Error: err.Error()}
	}
	return answer
}

func newCycle(ctx context.Context, asked *Case) (*cycle, error) {
	if asked.Pod == nil {
		return nil, fmt.Errorf("no pod to place")
	}
	snapshot := newSnapshot(asked)
	plugin, err := newPlugin(ctx, asked, snapshot)
	if err != nil {
		return nil, err
	}
	all, err := snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	cycle := &cycle{plugin: plugin, pod: asked.Pod, all: all}
	for _, name := range asked.Candidates {
		node, err := snapshot.NodeInfos().Get(name)
		if err != nil {
			return nil, fmt.Errorf("candidate %q: %w", name, err)
		}
		cycle.candidates = append(cycle.candidates, node)
	}
	return cycle, nil
}

// filter prepares over all nodes and asks about the candidates.
func (c *cycle) filter(ctx context.Context) (*Filter, error) {
	state := framework.NewCycleState()
	_, status := c.plugin.PreFilter(ctx, state, c.pod, c.all)
	if status.Code() == fwk.Error {
		return nil, status.AsError()
	}
	filter := &Filter{PreFilter: statusOf(status)}
	if !status.IsSuccess() {
		return filter, nil
	}
	for _, node := range c.candidates {
		status := c.plugin.Filter(ctx, state, c.pod, node)
		if status.Code() == fwk.Error {
			return nil, status.AsError()
		}
		filter.Nodes = append(filter.Nodes, statusOf(status))
	}
	return filter, nil
}

// score takes the candidates for the nodes that passed every filter.
func (c *cycle) score(ctx context.Context) (*Score, error) {
	state := framework.NewCycleState()
	status := c.plugin.PreScore(ctx, state, c.pod, c.candidates)
	if status.Code() == fwk.Error {
		return nil, status.AsError()
	}
	score := &Score{PreScore: statusOf(status)}
	if !status.IsSuccess() {
		return score, nil
	}
	list := make(fwk.NodeScoreList, len(c.candidates))
	for i, node := range c.candidates {
		raw, status := c.plugin.Score(ctx, state, c.pod, node)
		if !status.IsSuccess() {
			return nil, status.AsError()
		}
		list[i] = fwk.NodeScore{Name: node.Node().Name, Score: raw}
		score.Raw = append(score.Raw, raw)
	}
	if status := c.plugin.NormalizeScore(ctx, state, c.pod, list); !status.IsSuccess() {
		return nil, status.AsError()
	}
	for _, node := range list {
		score.Normalized = append(score.Normalized, node.Score)
	}
	return score, nil
}

func statusOf(status *fwk.Status) Status {
	if status == nil { // which means success
		return Status{Code: fwk.Success.String()}
	}
	return Status{Code: status.Code().String(), Reasons: status.Reasons()}
}
