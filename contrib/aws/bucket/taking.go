package bucket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/contrib/aws/internal/sdk"
	"github.com/rota-run/rota/work"
)

// taking is one run of one item.
type taking struct {
	service
	grant *rota.Grant
	take  func(ctx context.Context, g *rota.Grant, o Object) error
}

var errGone = errors.New("the object is gone")

func (t taking) run(ctx context.Context) error {
	p, err := parsePlace(t.grant.ListedBy)
	if err != nil {
		return err
	}
	var in listed
	if err := json.Unmarshal(t.grant.Input, &in); err != nil {
		return fmt.Errorf("decode the input of the item: %w", err)
	}
	err = t.object(ctx, place{p.bucket, in.Name}, in)
	switch {
	case errors.Is(err, errGone):
		t.grant.Log.Info("an object was deleted after it was listed, and is passed over", "object",
			place{p.bucket, in.Name}.String())
		t.grant.Value("s3_objects_gone", 1, map[string]string{"bucket": p.bucket})
		return nil
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("take %s: %w", place{p.bucket, in.Name}, err)
	}
	return err
}

func (t taking) object(ctx context.Context, at place, in listed) error {
	var done mark
	var err error
	if t.config.Follow == Marks {
		if done, _, err = t.readMark(ctx, t.markOf(at.bucket, at.prefix)); err != nil {
			return err
		}
	}
	s := &stream{service: t.service, at: at, ctx: ctx}
	o, err := s.open()
	if err != nil {
		return err
	}
	defer s.close()
	if done.ETag != "" && done.ETag == o.ETag {
		return nil // it was marked after it was listed
	}
	o.Listed = in.ETag
	if err := t.take(ctx, t.grant, o); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !t.grant.Valid():
		return work.CauseLeaseLost
	case t.config.Follow == Marks:
		return t.markDone(ctx, at, o)
	case t.config.Follow == Delete:
		return t.delete(ctx, at, o)
	}
	return nil
}

// markDone writes the mark, and then looks at the object: the mark would hide a change that came before it.
func (t taking) markDone(ctx context.Context, at place, o Object) error {
	if err := t.writeMark(ctx, t.markOf(at.bucket, at.prefix), mark{o.ETag, t.grant.Token}); err != nil {
		return err
	}
	now, err := t.etag(ctx, at)
	if err == nil && now != o.ETag {
		return errSince
	}
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

var errSince = errors.New("the object was changed after it was opened: it is taken again")

// delete deletes the object that was taken, and not one that has come in its place.
func (t taking) delete(ctx context.Context, at place, o Object) error {
	now, err := t.etag(ctx, at)
	if err == nil && now == o.ETag {
		// Gateways that do not know the condition delete what they have: that is why it was looked at before.
		_, err = t.client.DeleteObject(ctx,
			&s3.DeleteObjectInput{Bucket: &at.bucket, Key: &at.prefix, IfMatch: &o.ETag})
	}
	switch c := sdk.Status(err); {
	case err == nil, errors.Is(err, errGone), c == http.StatusNotFound, c == http.StatusPreconditionFailed,
		c == http.StatusConflict:
		return nil // what is there now has another ETag: it is listed again
	case c != 0:
		return t.explain("delete "+at.String(), at.bucket, err)
	}
	return err
}

func (s service) etag(ctx context.Context, at place) (string, error) {
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &at.bucket, Key: &at.prefix})
	switch {
	case err == nil:
		return aws.ToString(head.ETag), nil
	case sdk.Status(err) == http.StatusNotFound:
		return "", errGone
	}
	return "", s.explain("look at "+at.String(), at.bucket, err)
}

// mark is the content of an object that says that another one is done.
type mark struct {
	ETag  string        `json:"etag"`  // of the object that was taken
	Token cluster.Token `json:"token"` // of who took it
}

// markOf is where the mark of an object is. Marks sort like the objects, so that both are listed side by side.
func (s service) markOf(bucket, name string) place {
	m, _ := parsePlace(s.config.Marks) // validate has seen it
	return place{m.bucket, m.prefix + bucket + "/" + name}
}

// unmarked leaves out the objects that have a newer mark, and those with a mark of the same second which says that it
// is of this version. They stand between two names.
func (l *listing) unmarked(ctx context.Context, after, last string, objects []listed) ([]listed, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	marks, err := l.marks(ctx, after, last)
	if err != nil {
		return nil, err
	}
	base := l.markOf(l.place.bucket, "").prefix
	doubtful, done := make([]int, 0, len(objects)), make([]bool, len(objects))
	for i, o := range objects {
		m, ok := marks[base+o.Name]
		done[i] = ok && m.Modified > o.Modified
		if ok && m.Modified == o.Modified {
			doubtful = append(doubtful, i)
		}
	}
	err = each(ctx, doubtful, func(ctx context.Context, i int) (err error) {
		o := objects[i]
		done[i], err = l.markedAs(ctx, o, marks[base+o.Name])
		return err
	})
	var out []listed
	for i, o := range objects {
		if !done[i] {
			out = append(out, o)
		}
	}
	return out, err
}

// marks lists the marks of objects between two names, by their own names.
func (l *listing) marks(ctx context.Context, after, last string) (map[string]listed, error) {
	all := l.markOf(l.place.bucket, l.place.prefix)
	base := l.markOf(l.place.bucket, "").prefix
	behind, end := "", base+last
	if after != "" {
		behind = base + after
	}
	marks := make(map[string]listed)
	for done := false; !done; {
		page, err := l.pageOf(ctx, all, behind, maxPage)
		if err != nil {
			return nil, err
		}
		for _, m := range page.objects {
			marks[m.Name] = m
		}
		behind, done = page.last, page.end || page.last >= end
	}
	return marks, nil
}

// markedAs tells whether a mark says that this version of an object was taken. One that nobody can read says nothing:
// the run of the object will tell.
func (l *listing) markedAs(ctx context.Context, o, listedMark listed) (bool, error) {
	if l.proven.has(o, listedMark) {
		return true, nil
	}
	m, version, err := l.readMark(ctx, l.markOf(l.place.bucket, o.Name))
	if err != nil || bare(m.ETag) != bare(o.ETag) {
		return false, context.Cause(ctx)
	}
	if bare(version) == bare(listedMark.ETag) {
		l.proven.add(o, listedMark)
	}
	return true, nil
}

// bare is an ETag without its quotes, which not all gateways give in listings.
func bare(etag string) string { return strings.Trim(etag, `"`) }

// atOnce is how many marks are read at a time.
const atOnce = 16

// each runs f for all of some numbers, a few at a time, and returns the first error.
func each(ctx context.Context, numbers []int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for _, i := range numbers {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if err := f(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// maxMark bounds what is read of a mark, which somebody else may have written.
const maxMark = 64 << 10

// readMark returns the mark of an object and its version, "" where there is none.
func (s service) readMark(ctx context.Context, at place) (m mark, version string, err error) {
	resp, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &at.bucket, Key: &at.prefix})
	switch {
	case err != nil && sdk.Status(err) == http.StatusNotFound && sdk.Code(err) != "NoSuchBucket":
		return m, "", nil
	case err != nil:
		return m, "", s.explain("read the mark "+at.String(), at.bucket, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxMark))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return m, "", fmt.Errorf("read the mark %s: %w", at, err)
	}
	return m, aws.ToString(resp.ETag), nil
}

// markTries bounds the rounds of read and write of one mark: only runs of one object compete.
const markTries = 4

// writeMark says that an object is done, unless a newer owner of its item said so.
func (s service) writeMark(ctx context.Context, at place, m mark) error {
	data, err := json.Marshal(m)
	for try := 0; err == nil && try < markTries; try++ {
		was, version, fault := s.readMark(ctx, at)
		switch {
		case fault != nil:
			return fault
		case was.Token > m.Token:
			return fmt.Errorf("write the mark %s: %w", at, work.ErrToken)
		case was == m:
			return nil
		}
		in := &s3.PutObjectInput{Bucket: &at.bucket, Key: &at.prefix, Body: bytes.NewReader(data),
			ContentType: aws.String("application/json")}
		if version == "" {
			in.IfNoneMatch = aws.String("*")
		} else {
			in.IfMatch = &version
		}
		_, fault = s.client.PutObject(ctx, in)
		if fault == nil {
			return nil
		}
		if c := sdk.Status(fault); c != http.StatusPreconditionFailed && c != http.StatusConflict {
			return s.explain("write the mark "+at.String(), at.bucket, fault)
		}
	}
	return errors.Join(err, fmt.Errorf("write the mark %s: others write it all the time", at))
}
