package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rota-run/rota/cluster"
)

// Function is a function that members can run: a [Func] of any argument and result.
type Function interface {
	// Name is the name under which it is called.
	Name() string
	definition() definition
}

// definition is a function without its types.
type definition struct {
	name    string
	options Options
	twice   bool // options were given twice
	takes   reflect.Type
	run     func(ctx context.Context, arg json.RawMessage) (json.RawMessage, error)
}

func (d definition) check() error {
	if d.twice {
		return fmt.Errorf("function %s: it has several Options: give one", d.name)
	}
	if d.run == nil {
		return fmt.Errorf("function %s does nothing: make it by NewFunc", d.name)
	}
	if err := errors.Join(checkFunctionName(d.name), d.options.check()); err != nil {
		return fmt.Errorf("function %s: %w", d.name, err)
	}
	return nil
}

// Func is a function with a name. The caller and the runner have the same Func, or two of the same name whose types
// agree as JSON. It is a value and may be used from any goroutine.
type Func[A, R any] struct{ d definition }

// NewFunc names a function. Arguments and results are encoded as JSON. A faulty name or faulty options are an error of
// Submit, and of the start of a member that registers the function.
//
// A run may be repeated: after an error, and when its member dies or loses the store. ctx ends when this run must stop;
// context.Cause returns the reason. [TokenOf] is the fencing token for its effects. Options may be omitted, or given
// once.
func NewFunc[A, R any](name string, run func(ctx context.Context, arg A) (R, error), options ...Options) Func[A, R] {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	d := definition{name: name, options: o, twice: len(options) > 1, takes: reflect.TypeFor[A]()}
	if run != nil {
		d.run = func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
			var arg A
			if err := unmarshal(raw, &arg); err != nil {
				return nil, Permanent(fmt.Errorf("decode the argument of %s: %w", name, err))
			}
			r, err := run(ctx, arg)
			if err != nil {
				return nil, err
			}
			result, err := json.Marshal(r)
			if err != nil {
				return nil, Permanent(fmt.Errorf("encode the result of %s: %w", name, err))
			}
			return result, nil
		}
	}
	return Func[A, R]{d}
}

// unmarshal decodes one JSON value; fields that the target does not have are errors.
func unmarshal(raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the JSON value")
	}
	return nil
}

// Name implements Function.
func (f Func[A, R]) Name() string { return f.d.name }

func (f Func[A, R]) definition() definition { return f.d }

// With returns the same function with other options for calls submitted through it.
func (f Func[A, R]) With(o Options) Func[A, R] {
	f.d.options = o
	return f
}

// Target is where calls are submitted: a member, or a client of any other process.
type Target interface {
	// Calls returns the client that submits and waits.
	Calls() *Client
}

// Submit writes a call and returns when it is persisted: from then on it survives the death of this process and of any
// member. It runs on an idle slot of a member that has the function. If the error matches store.ErrUnknown, the call
// may have been submitted; after any other error it was not.
func (f Func[A, R]) Submit(ctx context.Context, to Target, arg A) (*Call[R], error) {
	raw, err := json.Marshal(arg)
	if err != nil {
		return nil, fmt.Errorf("submit call of %s: encode the argument: %w", f.d.name, err)
	}
	if f.d.run == nil || f.d.twice {
		return nil, fmt.Errorf("submit call: %w", f.d.check())
	}
	h, err := to.Calls().Submit(ctx, f.d.name, raw, f.d.options)
	if err != nil {
		return nil, err
	}
	return &Call[R]{h}, nil
}

// submitAtOnce is how many submissions of SubmitAll are under way at the same time.
const submitAtOnce = 32

// SubmitAll submits a call for each argument, many at the same time. Calls are in the order of the arguments. A call
// that was not submitted is nil, and the returned error joins the errors of [Func.Submit].
func (f Func[A, R]) SubmitAll(ctx context.Context, to Target, args ...A) ([]*Call[R], error) {
	calls, faults := make([]*Call[R], len(args)), make([]error, len(args))
	next := make(chan int)
	var submitters sync.WaitGroup
	for range min(submitAtOnce, len(args)) {
		submitters.Go(func() {
			for i := range next {
				calls[i], faults[i] = f.Submit(ctx, to, args[i])
			}
		})
	}
	for i := range args {
		next <- i
	}
	close(next)
	submitters.Wait()
	return calls, errors.Join(faults...)
}

// Attach returns a call that was submitted before, maybe by another process, by its ID.
func (f Func[A, R]) Attach(to Target, id string) (*Call[R], error) {
	h, err := to.Calls().Attach(id)
	if err != nil {
		return nil, err
	}
	return &Call[R]{h}, nil
}

// Map calls the function for each argument and yields the results in the order of the arguments. The error of a call is
// yielded at its place, and the others continue. At most window calls are outstanding, which also bounds memory; Map
// takes an argument from args when there is room for its call. When ctx ends, its cause is yielded and the rest is
// skipped. Calls that are outstanding then, or when the loop is left, are cancelled in the background. A window below 1
// counts as 1.
func (f Func[A, R]) Map(ctx context.Context, to Target, args iter.Seq[A], window int) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		m := mapping[A, R]{f: f, to: to, window: max(window, 1)}
		m.run(ctx, args, yield)
	}
}

// Call is the submitter's handle of one call. Its methods may be called from any goroutine.
type Call[R any] struct{ h *Handle }

// ID identifies the call, for Attach.
func (c *Call[R]) ID() string { return c.h.ID() }

// Wait returns the result, or the error with which the call ended: [ErrCancelled], an [*Error] (ErrTimeout if it took
// too long), [ErrGone]. It may be called again and returns the same. When ctx ends it returns its cause, and the call
// continues. Returning the outcome collects it: the document is deleted soon after. A function that waits with its own
// ctx yields its slot to other calls meanwhile.
func (c *Call[R]) Wait(ctx context.Context) (R, error) {
	var r R
	raw, err := c.h.Wait(ctx)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("decode the result of call %s: %w", c.ID(), err)
	}
	return r, nil
}

// Cancel ends the call if it is queued. Otherwise it asks the runner to stop, which notices within about a second; Wait
// returns the outcome. A finished call does not change. Nil means that the request is persisted, or was not needed any
// more.
func (c *Call[R]) Cancel(ctx context.Context) error { return c.h.Cancel(ctx) }

// OnFailureOrTimeout calls back once, with the result of Wait, when the call has failed, timed out, was cancelled or is
// gone; at once if it already has. Each given function is called at most once, in its own goroutine, and exactly once
// if the call ends this way while this process and its client live. For an action that must happen even if this process
// dies, use a function: see Options.OnFailure.
func (c *Call[R]) OnFailureOrTimeout(f func(error)) { c.h.OnFailureOrTimeout(f) }

// OnDone calls back once, with the result, when the call is done; it collects the outcome, as Wait does. The function
// is called in its own goroutine, and not if the call ends otherwise, or if this process or its client ends before.
func (c *Call[R]) OnDone(f func(R)) {
	c.h.c.background(func(ctx context.Context) {
		if r, err := c.Wait(ctx); err == nil {
			go f(r)
		}
	})
}

// labelKey begins the keys of the labels in which a member tells its functions.
const labelKey = "rota.functions"

// labelSize bounds one label; the names go into as many as it takes.
const labelSize = 4000

// Labels returns the labels by which a member announces its functions; none for no functions.
func Labels(functions []Function) map[string]string {
	out := make(map[string]string)
	key := labelKey
	for _, name := range Names(functions) {
		if out[key] != "" && len(out[key])+1+len(name) > labelSize {
			key = labelKey + "." + strconv.Itoa(len(out)+1)
		}
		if out[key] != "" {
			name = out[key] + "," + name
		}
		out[key] = name
	}
	return out
}

// Offered returns the functions that a member announces, sorted.
func Offered(m cluster.Member) []string {
	var names []string
	for _, l := range m.Labels {
		if l.Key == labelKey || strings.HasPrefix(l.Key, labelKey+".") {
			names = append(names, strings.Split(l.Value, ",")...)
		}
	}
	slices.Sort(names)
	return names
}
