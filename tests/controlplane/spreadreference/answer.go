package main

import (
	"context"
	"fmt"
	"runtime/debug"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// cycle is one pod's way through the scheduler.
type cycle struct {
	scheduler  *scheduler
	pod        *v1.Pod
	candidates []fwk.NodeInfo
	// What is to go, by the name of the candidate.
	victims map[string][]string
}

// answer runs both halves, each with a state of its own, so that neither can lean on the other.
func (asked *Case) answer() (answer Answer) {
	answer.ID = asked.ID
	defer func() {
		if panicked := recover(); panicked != nil {
			answer = Answer{ID: asked.ID, Error: fmt.Sprintf("panic: %v\n%s", panicked, debug.Stack())}
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cycle, err := newCycle(ctx, asked)
	if err == nil {
		err = cycle.filter(ctx, &answer)
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
	scheduler, err := newScheduler(ctx, asked, snapshot)
	if err != nil {
		return nil, err
	}
	cycle := &cycle{scheduler: scheduler, pod: asked.Pod, victims: asked.Victims}
	isCandidate := make(map[string]bool, len(asked.Candidates))
	for _, name := range asked.Candidates {
		node, err := snapshot.NodeInfos().Get(name)
		if err != nil {
			return nil, fmt.Errorf("candidate %q: %w", name, err)
		}
		cycle.candidates = append(cycle.candidates, node)
		isCandidate[name] = true
	}
	for name := range asked.Victims {
		if !isCandidate[name] {
			return nil, fmt.Errorf("victims on %q, which is no candidate", name)
		}
	}
	return cycle, nil
}

// filter prepares over all nodes, asks about the candidates, and then once more about those that
// have victims. A pod that spreading skips fits everywhere, with and without them.
func (c *cycle) filter(ctx context.Context, answer *Answer) error {
	state := framework.NewCycleState()
	if _, status, _ := c.scheduler.RunPreFilterPlugins(ctx, state, c.pod); !status.IsSuccess() {
		return status.AsError()
	}
	skips := state.GetSkipFilterPlugins().Has(spreadName)
	answer.Filter = &Filter{PreFilter: statusOf(nil)}
	if skips {
		answer.Filter.PreFilter = statusOf(fwk.NewStatus(fwk.Skip))
	}
	answer.VictimsGone = make(map[string]Status, len(c.victims))
	for _, node := range c.candidates {
		if !skips {
			status := c.scheduler.RunFilterPluginsWithNominatedPods(ctx, state, c.pod, node)
			if status.Code() == fwk.Error {
				return status.AsError()
			}
			answer.Filter.Nodes = append(answer.Filter.Nodes, statusOf(status))
		}
		name := node.Node().Name
		if victims, some := c.victims[name]; some {
			status := c.withVictimsGone(ctx, state, node, victims)
			if status.Code() == fwk.Error {
				return status.AsError()
			}
			answer.VictimsGone[name] = statusOf(status)
		}
	}
	return nil
}

// score takes the candidates for the nodes that passed every filter.
func (c *cycle) score(ctx context.Context) (*Score, error) {
	spread, state := c.scheduler.spread, framework.NewCycleState()
	status := spread.PreScore(ctx, state, c.pod, c.candidates)
	if status.Code() == fwk.Error {
		return nil, status.AsError()
	}
	score := &Score{PreScore: statusOf(status)}
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

func statusOf(status *fwk.Status) Status {
	if status == nil { // which means success
		return Status{Code: fwk.Success.String()}
	}
	return Status{Code: status.Code().String(), Reasons: status.Reasons()}
}
