package nats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// Headers of messages.
const (
	headerExpect        = "Nats-Expected-Last-Subject-Sequence"
	headerExpectSubject = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerStream        = "Nats-Expected-Stream"
	headerTTL           = "Nats-TTL"
	headerOperation     = "KV-Operation"
	headerReason        = "Nats-Marker-Reason"
	headerVersion       = "Rota-Version" // of the write that this one only repeats
	headerName          = "Rota-Name"    // driver.Op.Name
	headerOnce          = "Rota-Once"    // the row is never written again
	headerSession       = "Rota-Lease"
	headerWrite         = "Rota-Write" // a name that only this write has
)

// headerRoom is what is kept free for headers below the server's greatest message.
const headerRoom = 1 << 10

// request sends one message and waits for one answer. A change is never sent twice.
func (w *wire) request(ctx context.Context, m *nc.Msg, change bool) (*nc.Msg, error) {
	if !w.line.whole() {
		return nil, sendError(ctx, w.line.broken(), change)
	}
	ctx, done := w.asking(ctx)
	defer done()
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	defer w.line.waits(m, refuse)()
	times := 1
	if !change {
		times = askTimes
	}
	answer, err := asked(ctx, w.timeout/4, times,
		func(ctx context.Context) (*nc.Msg, error) { return w.exchange(ctx, m) })
	if err != nil {
		return nil, sendError(ctx, err, change)
	}
	return answer, nil
}

// asking is a ctx that also ends with the store's timeout, and with the connection: an answer would find nobody.
func (w *wire) asking(ctx context.Context) (asking context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ctx, stop := context.WithTimeoutCause(ctx, w.timeout, errTimeout)
	release := context.AfterFunc(w.line.current(), func() { cancel(errDisconnected) })
	return ctx, func() {
		release()
		stop()
		cancel(nil)
	}
}

// askTimes is how often a question is sent. In a cluster nobody answers a question about a stream that has just been
// dropped, or whose leader has just gone.
const askTimes = 2

// asked calls, and calls again after each pause in which nothing came back. The first result counts.
func asked[T any](ctx context.Context, pause time.Duration, times int,
	call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		value T
		err   error
	}
	back := make(chan result, times)
	for ; ; times-- {
		go func() {
			value, err := call(ctx)
			back <- result{value, err}
		}()
		var silence <-chan time.Time
		if times > 1 {
			silence = time.After(pause)
		}
		select {
		case r := <-back:
			return r.value, r.err
		case <-silence:
		}
	}
}

// exchange is the client's request that ends with ctx. A message that got stuck on the way may be sent later.
func (w *wire) exchange(ctx context.Context, m *nc.Msg) (*nc.Msg, error) {
	return within(ctx, func() (*nc.Msg, error) { return w.conn.RequestMsgWithContext(ctx, m) }, nil)
}

// within is a call of the client that ends with ctx. The client's own calls do not while it connects: it holds its lock
// until the server has said hello, however long that takes. What a call returns too late is dropped.
func within[T any](ctx context.Context, call func() (T, error), drop func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	back := make(chan result, 1)
	go func() {
		value, err := call()
		back <- result{value, err}
	}()
	select {
	case r := <-back:
		return r.value, r.err
	case <-ctx.Done():
		if drop != nil {
			go func() {
				if r := <-back; r.err == nil {
					drop(r.value)
				}
			}()
		}
		var none T
		return none, ctx.Err()
	}
}

// api calls the JetStream API; the answer goes into out. An error of the server is an *apiError.
func (w *wire) api(ctx context.Context, verb, stream string, in, out any, change bool) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	subject := "$JS.API." + verb
	if stream != "" {
		subject += "." + stream
	}
	answer, err := w.request(ctx, &nc.Msg{Subject: subject, Data: data}, change)
	if err != nil {
		return err
	}
	var fault struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &fault); err != nil {
		return fmt.Errorf("read the server's answer to %s: %w", verb, err)
	}
	if fault.Error != nil {
		return fault.Error
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer.Data, out)
}

// purgeRequest removes the messages of a subject before a sequence.
type purgeRequest struct {
	Filter string `json:"filter,omitempty"`
	Seq    uint64 `json:"seq,omitempty"`
}

// purge removes messages from a stream.
func (w *wire) purge(ctx context.Context, stream string, r purgeRequest) error {
	err := w.api(ctx, "STREAM.PURGE", stream, r, nil, true)
	var refused *apiError
	if !errors.As(err, &refused) {
		return err
	}
	if w.replicas == 1 && (refused.Code == codeNotAvailable || refused.Status == 404 || refused.Status == 400) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

// readError gives an error of an api call that reads its meaning.
func readError(err error) error {
	var refused *apiError
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.Code == codeNoMessage, refused.Code == codeSequenceNotFound:
		return errAbsent
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// publish writes one message to a stream and returns its sequence.
func (w *wire) publish(ctx context.Context, stream string, m *nc.Msg) (uint64, error) {
	answer, err := w.request(ctx, m, true)
	if err != nil {
		return 0, err
	}
	var ack struct {
		Error  *apiError `json:"error"`
		Stream string    `json:"stream"`
		Seq    uint64    `json:"seq"`
	}
	switch err := json.Unmarshal(answer.Data, &ack); {
	case err != nil:
		return 0, fmt.Errorf("%w: read the server's answer: %w", store.ErrUnknown, err)
	case ack.Error != nil:
		return 0, publishError(ack.Error, w.replicas)
	case ack.Stream != stream || ack.Seq == 0:
		return 0, fmt.Errorf("%w: stream %q answered for %q: another stream takes the subject %s", store.ErrUnknown,
			ack.Stream, stream, m.Subject)
	}
	return ack.Seq, nil
}

// bound is a ctx for a call that may take several requests.
func (w *wire) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, w.timeout, errTimeout)
}

// most is the greatest value that fits into one message.
func (w *wire) most() int { return max(0, int(w.line.maxPayload())-headerRoom) }

// wire is a connection to the server, and what it is used for.
type wire struct {
	conn     *nc.Conn
	js       jetstream.JetStream
	line     *line
	names    names
	replicas int  // of the streams, as they are
	readOnly bool // the user may not write: what is read is not confirmed
	timeout  time.Duration
	log      *slog.Logger

	life *driver.Life
}

// enter says why a call must not begin, nil if it may.
func (w *wire) enter(ctx context.Context) error {
	return cmp.Or(context.Cause(w.life.Ctx), context.Cause(ctx))
}

// Close implements driver.Driver.
func (w *wire) Close() error {
	if !w.life.Close() {
		return nil
	}
	w.life.End()
	w.conn.Close()
	w.line.close()
	return nil
}

// swap writes a message if the newest one of its subject has the sequence expected, 0 for none; else it returns
// errMoved.
func (w *wire) swap(ctx context.Context, subject string, expected uint64, h nc.Header, data []byte) (uint64, error) {
	m := &nc.Msg{Subject: subject, Header: nc.Header{headerExpect: {strconv.FormatUint(expected, 10)}}, Data: data}
	maps.Copy(m.Header, h)
	if w.replicas == 1 {
		return w.publish(ctx, w.names.docs(), m)
	}
	write := w.newID()
	m.Header[headerWrite] = []string{write}
	line := w.line.current()
	seq, err := w.publish(ctx, w.names.docs(), m)
	if !errors.Is(err, errMoved) {
		return seq, err
	}
	return w.refused(ctx, line, subject, expected, write, err)
}

// refused finds out what the refusal of a write means in a cluster. A leader that was replaced without having noticed
// still gets each write, and refuses it by what it has, while the leader that took its place may do it; whose answer
// comes first is chance. So refused reads the newest message and has it confirmed: requests of one connection keep
// their order, so by then the true leader has decided.
func (w *wire) refused(ctx, line context.Context, subject string, expected uint64, write string,
	refusal error) (uint64, error) {
	m, err := w.current(ctx, subject)
	if err != nil {
		return 0, fmt.Errorf("%w: a leader refused it, and none confirmed that: %w", store.ErrUnknown, err)
	}
	return judge(m, write, expected, line.Err() != nil, refusal)
}

// judge decides what the refusal of a write means, given the newest message. broken says that the connection broke
// after the write was sent.
func judge(m message, write string, expected uint64, broken bool, refusal error) (uint64, error) {
	switch {
	case m.header.Get(headerWrite) == write:
		return m.seq, nil
	case broken:
		return 0, fmt.Errorf("%w: a leader refused it, then %w", store.ErrUnknown, errDisconnected)
	}
	var moved *movedError
	old := errors.As(refusal, &moved) && 0 < moved.to && moved.to < expected // it did not know yet what the caller has seen
	if old && m.seq > expected && m.header.Get(headerExpect) != strconv.FormatUint(expected, 10) {
		return 0, fmt.Errorf("%w: a leader that was replaced refused it, and others have written since",
			store.ErrUnknown)
	}
	return 0, refusal
}
