package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
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

// listed is an object as a listing shows it; in JSON, the input of its item.
type listed struct {
	Name     string `json:"name"`
	ETag     string `json:"etag"`
	Modified int64  `json:"modified_ms,omitempty"` // by the clock of the service
}

// cursor is how far a place was listed.
type cursor struct {
	After string `json:"after"` // the name of the last object
}

func decodeCursor(data []byte) (c cursor, err error) {
	if data == nil {
		return c, nil
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("decode the cursor %.100q: %w", data, err)
	}
	return c, nil
}

func (c cursor) encode() []byte {
	data, _ := json.Marshal(c) // a string always encodes
	return data
}

// listing is one run that lists a place.
type listing struct {
	service
	place  place
	window func() (work.Window, error)
	proven *proven
}

// list is the run of a partition that is named like a place.
func list(ctx context.Context, g *rota.Grant, s service) error {
	p, err := parsePlace(g.Key)
	if err != nil {
		return err
	}
	if m, err := parsePlace(s.config.Marks); err == nil && (p.holds(m) || m.holds(p)) {
		return fmt.Errorf("list %s: the marks in %s would be listed, or objects taken for marks: put them elsewhere", p,
			m)
	}
	host, ok := g.Host.(work.Windows)
	if !ok {
		return fmt.Errorf("list %s: this host has no windows: %w", p, errors.ErrUnsupported)
	}
	l := &listing{service: s, place: p, proven: newProven(), window: func() (work.Window, error) {
		w, _, err := host.Window(g)
		return w, err
	}}
	return work.Partitioner{Window: s.config.Window, Poll: time.Duration(s.config.Poll),
		List: func(ctx context.Context, _ *rota.Grant, at []byte, limit int) (rota.Page, error) {
			return l.next(ctx, at, limit)
		}}.Run(ctx, g)
}

// next looks for objects until there are some, or none are left. What it passes over costs requests, and no entry of
// the cluster's log.
func (l *listing) next(ctx context.Context, at []byte, limit int) (rota.Page, error) {
	c, err := decodeCursor(at)
	if err != nil {
		return rota.Page{}, err
	}
	from := c
	for {
		page, found, err := l.look(ctx, c.After, limit)
		if err != nil {
			return rota.Page{}, err
		}
		c.After = page.last
		items, last := l.items(found)
		switch {
		case len(items) < len(found): // the inputs were too large for one step
			return rota.Page{Items: items, Cursor: cursor{last}.encode()}, nil
		case page.end:
			return l.atEnd(items, from, c, at), nil
		case len(items) > 0:
			return rota.Page{Items: items, Cursor: c.encode()}, nil
		}
	}
}

// look asks for the objects behind a name; found are those of them that are to be taken. Where what was listed is
// listed again, that is all but what waits or runs already. The window is asked for first: an object that is done by
// then is marked or deleted in what comes after.
func (l *listing) look(ctx context.Context, after string, limit int) (p page, found []listed, err error) {
	var w work.Window
	if l.again() {
		if w, err = l.window(); err != nil {
			return p, nil, err
		}
	}
	if p, err = l.page(ctx, after, limit); err != nil {
		return p, nil, err
	}
	found = p.objects
	if l.again() {
		found = slices.DeleteFunc(slices.Clone(found),
			func(o listed) bool { return w.Has(itemKey(l.place.bucket, o.Name)) })
	}
	if l.config.Follow == Marks {
		found, err = l.unmarked(ctx, after, p.last, found)
	}
	return p, found, err
}

// again tells whether the place is listed from its beginning when its end was reached.
func (l *listing) again() bool { return l.config.Follow == Marks || l.config.Follow == Delete }

// atEnd is the last page: nothing was listed after it. A place that is listed again starts over, and stays at its
// beginning while nothing is new: then nothing is written.
func (l *listing) atEnd(items []rota.Item, from, c cursor, at []byte) rota.Page {
	p := rota.Page{Items: items, Cursor: c.encode(), End: l.config.Follow == Once}
	still := c.After == from.After
	if l.again() {
		p.Cursor, still = cursor{}.encode(), from.After == ""
	}
	if len(items) == 0 && still {
		p.Cursor = at
	}
	return p
}

// The limits of one page: S3's, and what fits into one step of a window.
const (
	maxPage   = 1000
	maxInputs = cluster.MaxInputs * 3 / 4
)

// items makes items of objects until the step is full. It tells the name of the last one that fits.
func (l *listing) items(found []listed) (items []rota.Item, last string) {
	size := 0
	for _, o := range found {
		input, err := json.Marshal(o)
		if size += len(input); err != nil || size > maxInputs {
			break
		}
		items, last = append(items, rota.Item{Key: itemKey(l.place.bucket, o.Name), Input: input}), o.Name
	}
	return items, last
}

// page is what one request has shown.
type page struct {
	objects []listed
	last    string // the name of the last one; where there is none, that behind which was asked
	end     bool
}

var errOrder = errors.New("the names do not come in ascending order of their bytes: this kind of bucket, or gateway, can't be listed in windows")

// page asks for the objects behind a name.
func (l *listing) page(ctx context.Context, after string, limit int) (page, error) {
	return l.pageOf(ctx, l.place, after, min(limit, maxPage))
}

func (s service) pageOf(ctx context.Context, p place, after string, limit int) (page, error) {
	in := &s3.ListObjectsV2Input{Bucket: &p.bucket, MaxKeys: aws.Int32(int32(limit)),
		EncodingType: types.EncodingTypeUrl} //nolint:gosec // at most maxPage
	if p.prefix != "" {
		in.Prefix = &p.prefix
	}
	if after != "" {
		in.StartAfter = &after
	}
	resp, err := s.client.ListObjectsV2(ctx, in)
	doing := "list " + p.String()
	if err != nil {
		return page{}, s.explain(doing, p.bucket, err)
	}
	out := page{last: after, end: !aws.ToBool(resp.IsTruncated)}
	for _, o := range resp.Contents {
		name := aws.ToString(o.Key)
		if resp.EncodingType == types.EncodingTypeUrl {
			if name, err = url.QueryUnescape(name); err != nil {
				return page{}, fmt.Errorf("%s: decode the name %.100q: %w", doing, aws.ToString(o.Key), err)
			}
		}
		if name <= out.last && (out.last != "" || name == "") {
			return page{}, fmt.Errorf("%s: %.100q comes behind %.100q: %w", doing, name, out.last, errOrder)
		}
		out.last = name
		out.objects = append(out.objects, listed{name, aws.ToString(o.ETag), aws.ToTime(o.LastModified).UnixMilli()})
	}
	if len(resp.Contents) == 0 && !out.end {
		return page{}, fmt.Errorf("%s: the answer shows nothing and says that more comes", doing)
	}
	return out, nil
}
