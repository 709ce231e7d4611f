package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/work"
)

// Objects is what one process does with objects. Take is required.
type Objects struct {
	// Take works on one object. It is done when Take returns nil. It may be called again for the same object, under a
	// larger g.Token, where a run was cut: write results so that an old token cannot overwrite a newer one, or ask
	// g.Valid right before.
	Take func(ctx context.Context, g *rota.Grant, o Object) error
	// MaxConcurrent is how many objects this process works on at once; 0 means 8.
	MaxConcurrent int
	// Load and Options are those of the SDK in this process: a profile, credentials, retries, an HTTP client.
	Load    []func(*config.LoadOptions) error
	Options []func(*s3.Options)
}

// Object is one of a bucket as it was when its run opened it.
type Object struct {
	Bucket, Name string
	Size         int64 // in bytes
	ETag         string
	Listed       string // its ETag when it was listed: another one where it was changed since
	Modified     time.Time
	Type         string            // its content type
	Metadata     map[string]string // of its owner
	// Body is its content, as it comes over the network. A connection that breaks is taken up where it broke, as long
	// as the object is the same; if it was changed meanwhile reading ends with [ErrChanged].
	Body io.Reader
}

// ErrChanged says that an object was changed while it was read. Its item is tried again.
var ErrChanged = errors.New("the object was changed while it was read")

// NewType makes a task type of a function for objects. Submit it with [Task].
func NewType(name string, o Objects) rota.Type {
	shared := &clients{load: o.Load, options: o.Options, open: map[access]*s3.Client{}}
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = 8
	}
	room := make(chan struct{}, o.MaxConcurrent)
	return rota.Type{Name: name, Doc: "takes the objects of a bucket",
		New: func(d work.Definition) (work.Runner, error) {
			if o.Take == nil {
				return nil, fmt.Errorf("objects %s: %w", name, errors.New("Take is missing"))
			}
			var c Config
			if err := work.DecodeConfig(d, &c); err != nil {
				return nil, err
			}
			c = c.withDefaults()
			if err := c.validate(); err != nil {
				return nil, err
			}
			return work.RunnerFunc(func(ctx context.Context, g *rota.Grant) error {
				client, err := shared.get(ctx, c)
				if err != nil {
					return err
				}
				s := service{client: client, config: c}
				if g.ListedBy == "" {
					return list(ctx, g, s)
				}
				return inTurn(ctx, room, func() error { return taking{service: s, grant: g, take: o.Take}.run(ctx) })
			}), nil
		}}
}

// Task is a task of a type that [NewType] made, for some places "s3://bucket/" or "s3://bucket/prefix". Each of them is
// listed by itself.
func Task(typ string, c Config, places ...string) rota.Task {
	return rota.Task{Type: typ, Config: c, Spread: rota.Partitioned, Partitions: places, MaxAttempts: 10}
}

// inTurn runs f when there is room.
func inTurn(ctx context.Context, room chan struct{}, f func() error) error {
	select {
	case room <- struct{}{}:
		defer func() { <-room }()
		return f()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
