package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/publishtest"
)

// fake is a client whose cluster does what the script says.
type fake struct {
	t *testing.T
	s *publishtest.Script
}

func (f fake) ProduceSync(ctx context.Context, records ...*kgo.Record) (out kgo.ProduceResults) {
	m := f.s.Mood()
	err := f.s.Meet(ctx, m)
	switch m {
	case publishtest.Refuse:
		err = kerr.MessageTooLarge
	case publishtest.Expel:
		err = kerr.TopicAuthorizationFailed
	case publishtest.Busy:
		err = kerr.ThrottlingQuotaExceeded
	case publishtest.Up, publishtest.Lose:
		for _, r := range records {
			var s publish.Sample
			if wrong := json.Unmarshal(r.Value, &s); wrong != nil || r.Topic != "samples" ||
				string(r.Key) != s.Series() || r.Timestamp.UnixMilli() != s.Points[0].AtMS {
				f.t.Errorf("record %s %s %s: %v", r.Topic, r.Key, r.Value, wrong)
			}
			f.s.Take(s.Name, s.Points[0].Value)
		}
	}
	if m == publishtest.Lose {
		err = kgo.ErrRecordTimeout
	}
	for _, r := range records {
		out = append(out, kgo.ProduceResult{Record: r, Err: err})
	}
	return out
}

func (fake) Close() {}

func TestSuite(t *testing.T) {
	t.Parallel()
	publishtest.Run(t, publishtest.Rig{NoWait: true,
		Open: func(t *testing.T, s *publishtest.Script) publish.Sink { return &sink{"samples", fake{t, s}} }})
}

// verdicts is a client that fails records by their series.
type verdicts map[string]error

func (v verdicts) ProduceSync(_ context.Context, records ...*kgo.Record) (out kgo.ProduceResults) {
	for i := range records {
		r := records[len(records)-1-i] // the results come in any order
		out = append(out, kgo.ProduceResult{Record: r, Err: v[fmt.Sprintf("%d", r.Timestamp.UnixMilli())]})
	}
	return out
}

func (verdicts) Close() {}

func TestEachRecordIsJudgedAndASeriesKeepsItsOrder(t *testing.T) {
	t.Parallel()
	var batch []publish.Sample
	for i, name := range []string{"a", "b", "a", "b", "c", "a"} {
		batch = append(batch, publish.Sample{Name: name, Points: []publish.Point{{AtMS: int64(i)}, {AtMS: 9}}})
	}
	s := &sink{"t", verdicts{"2": kerr.NotEnoughReplicas, "4": kerr.MessageTooLarge}}
	out := s.Send(t.Context(), batch)
	var again []int64
	for _, s := range out.Retry {
		again = append(again, s.Points[0].AtMS)
	}
	if fmt.Sprint(again) != "[2 5]" || out.Refused != 1 || out.Err == nil ||
		!strings.Contains(out.Err.Error(), "topic t") {
		t.Errorf("%v, %+v", again, out)
	}
	s.p = verdicts{"0": kerr.MessageTooLarge, "1": kerr.TopicAuthorizationFailed}
	if out := s.Send(t.Context(), batch[:2]); out.Refused != 2 || out.Login {
		t.Errorf("one is too large, the other not allowed: %+v", out)
	}
	s.p = verdicts{"1": kerr.TopicAuthorizationFailed}
	if out := s.Send(t.Context(), batch[:2]); out.Refused != 1 || out.Login {
		t.Errorf("one is taken, the other not allowed: %+v", out)
	}
	ctx, end := context.WithCancelCause(t.Context())
	end(errors.New("over"))
	s.p = verdicts{"0": context.Canceled}
	if out := s.Send(ctx, batch[:1]); len(out.Retry) != 1 || !strings.Contains(out.Err.Error(), "over") {
		t.Errorf("the time was over: %+v", out)
	}
	s.p = verdicts{"0": kerr.MessageTooLarge}
	if out := s.Send(ctx, batch[:1]); !errors.Is(out.Err, kerr.MessageTooLarge) {
		t.Errorf("it was too large before the time was over: %+v", out)
	}
}

// hangs is a client that is not closed before it is let go.
type hangs struct {
	verdicts
	letGo chan struct{}
}

func (h hangs) Close() { <-h.letGo }

// TestTheEndHasABound: a request that hangs does not hold up the end.
func TestTheEndHasABound(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		h := hangs{letGo: make(chan struct{})}
		must.Succeed(t, (&sink{"t", h}).Close())
		close(h.letGo)
	})
}

func TestWhatMayPass(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		kerr.MessageTooLarge: false, kerr.TopicAuthorizationFailed: false, kerr.InvalidRecord: false,
		kerr.RecordListTooLarge:      false,
		kerr.UnknownTopicOrPartition: true, kerr.NotLeaderForPartition: true, kerr.OutOfOrderSequenceNumber: true,
		kerr.ProducerFenced: true, kerr.InvalidProducerEpoch: true, kerr.UnknownProducerID: true,
		kerr.InvalidProducerIDMapping: true,
		kgo.ErrRecordTimeout:          true,
		context.DeadlineExceeded:      true, errors.New("dial: refused"): true,
	} {
		if got := passing(fmt.Errorf("produce: %w", err)); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Topic: "a/b"}, {Topic: ".."}, {Topic: "t", User: "u"},
		{Topic: "t", Password: publishtest.Secret},
		{Topic: "t", User: "u", Password: publishtest.Secret, Mechanism: "md5"}} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), publishtest.Secret) {
			t.Errorf("%v: %v", o.Topic, err)
		}
	}
	s, err := New(Options{Topic: "t", User: "u", Password: "p"})
	must.Succeed(t, err)
	// The client would count it from when a sample was measured: what had waited for a broker would never be sent.
	client := s.(*sink).p.(*kgo.Client)
	if limit := client.OptValue(kgo.RecordDeliveryTimeout); limit != time.Duration(0) {
		t.Errorf("a record may be %v old", limit)
	}
	if m := client.OptValue(kgo.SASL).([]sasl.Mechanism); len(m) != 1 || m[0].Name() != "SCRAM-SHA-512" {
		t.Errorf("the usual mechanisms are %v", m)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
