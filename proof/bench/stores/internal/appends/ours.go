package appends

import (
	"context"
	"errors"
	"fmt"
	"github.com/rota-run/rota/store"
	"sync"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/bench/internal/place"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/replica"
)

// ours is a log, and a member on another log beside it.
type ours struct {
	log, store store.Full
	member     *replica.Replica
	leave      context.CancelFunc
	all        sync.WaitGroup
	err        error // how the member ended; read it when all has
}

// job is what is edited again and again.
const job = "bench"

func openOurs(ctx context.Context, p *place.Place) (_ *ours, err error) {
	o := &ours{leave: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	if o.log, err = p.Open(ctx, "log"); err != nil {
		return nil, err
	}
	if o.store, err = p.Open(ctx, "member"); err != nil {
		return nil, err
	}
	joined := make(chan struct{}, 1)
	o.member, err = replica.New(protocol.Config{Member: "bench", Store: o.store, Events: protocol.Events{Joined: func(cluster.Incarnation) { joined <- struct{}{} }}})
	if err != nil {
		return nil, err
	}
	run, leave := context.WithCancel(context.WithoutCancel(ctx))
	o.leave = leave
	o.all.Go(func() { o.err = o.member.Run(run) })
	o.all.Go(func() { obey(o.member) })
	select {
	case <-joined:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the member to join: %w", context.Cause(ctx))
	}
	return o, o.propose(ctx, cluster.SubmitJob{Job: job, Spec: spec(nil)})
}

// obey takes in all assignments and runs nothing.
func obey(m *replica.Replica) {
	for a := range m.Assignments() {
		m.Report(a.Version, []protocol.Report{})
	}
}

func spec(data []byte) cluster.JobSpec {
	definition := fmt.Appendf(nil, `{"tags":{"data":"%x"}}`, data[:len(data)/2])
	return cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "none", Definition: definition}}}
}

func (o *ours) propose(ctx context.Context, c cluster.Command) error {
	res, err := o.member.Propose(ctx, c)
	if err == nil && !res[0].Accepted {
		err = fmt.Errorf("refused: %s", res[0].Reason)
	}
	return err
}

func (o *ours) Write(ctx context.Context, data []byte) error {
	_, err := o.log.Append(ctx, data)
	return err
}

func (o *ours) Batch(ctx context.Context, data []byte, n int) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = o.Write(ctx, data) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// applied changes the job: a command of about the size of data.
func (o *ours) Applied(ctx context.Context, data []byte) error {
	return o.propose(ctx, cluster.UpdateJob{Job: job, Spec: spec(data)})
}

func (o *ours) Close() error {
	o.leave()
	o.all.Wait()
	err := o.err
	for _, s := range []store.Full{o.log, o.store} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}
