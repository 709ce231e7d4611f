package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rota-run/rota/contrib/aws/internal/sdk"
)

// stream reads one object. When the connection breaks it asks for the rest, of the same version of the object.
type stream struct {
	service
	at  place
	ctx context.Context //nolint:containedctx // of the run that reads, which a Reader can't be told otherwise

	etag string
	size int64
	read int64
	body io.ReadCloser
	stop context.CancelCauseFunc // ends the request of body
	// cuts counts connections that broke in a row, without a byte in between.
	cuts int
	err  error // that ends the reading
}

// maxCuts is how many connections in a row may bring nothing.
const maxCuts = 5

var errStalled = errors.New("no byte came for a while")

// open asks for the whole object.
func (s *stream) open() (o Object, err error) {
	resp, err := s.get(&s3.GetObjectInput{Bucket: &s.at.bucket, Key: &s.at.prefix})
	switch {
	case err != nil && sdk.Status(err) == http.StatusNotFound && sdk.Code(err) != "NoSuchBucket":
		return o, errGone
	case err != nil:
		return o, s.explain("open "+s.at.String(), s.at.bucket, err)
	}
	s.etag, s.size = aws.ToString(resp.ETag), aws.ToInt64(resp.ContentLength)
	return Object{
		Bucket: s.at.bucket, Name: s.at.prefix, Size: s.size, ETag: s.etag, Modified: aws.ToTime(resp.LastModified),
		Type: aws.ToString(resp.ContentType), Metadata: resp.Metadata, Body: s,
	}, nil
}

func (s *stream) get(in *s3.GetObjectInput) (*s3.GetObjectOutput, error) {
	ctx, stop := context.WithCancelCause(s.ctx)
	resp, err := s.client.GetObject(ctx, in)
	if err != nil {
		stop(nil)
		return nil, err
	}
	s.body, s.stop = resp.Body, stop
	return resp, nil
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (n int, err error) {
	for s.err == nil {
		n, err = s.some(p)
		s.read += int64(n)
		if n > 0 {
			s.cuts = 0
		}
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, io.EOF) && s.read >= s.size:
			s.err = io.EOF
		case s.ctx.Err() != nil:
			s.err = context.Cause(s.ctx)
		case s.read >= s.size: // all has come, and is not what was stored
			s.err = err
		default:
			s.err = s.goOn(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, s.err
}

// some reads what comes, or gives up when nothing does.
func (s *stream) some(p []byte) (int, error) {
	stop := s.stop // of this request: it may fire when there is another
	watch := time.AfterFunc(time.Duration(s.config.Stall), func() { stop(errStalled) })
	defer watch.Stop()
	return s.body.Read(p)
}

// goOn asks for the rest after a cut.
func (s *stream) goOn(cut error) error {
	for ; s.cuts < maxCuts; s.cuts++ {
		s.close()
		if err := pause(s.ctx, s.cuts); err != nil {
			return err
		}
		in := &s3.GetObjectInput{Bucket: &s.at.bucket, Key: &s.at.prefix, IfMatch: &s.etag,
			Range: aws.String(fmt.Sprintf("bytes=%d-", s.read))}
		resp, err := s.get(in)
		switch {
		case err == nil && aws.ToString(resp.ETag) == s.etag && (s.read == 0 || resp.ContentRange != nil):
			s.cuts++
			return nil
		case err == nil: // a gateway that does not know the condition, or the range
			return ErrChanged
		case sdk.Status(err) == http.StatusPreconditionFailed, sdk.Status(err) == http.StatusNotFound:
			return ErrChanged
		}
		cut = err
	}
	return s.explain(fmt.Sprintf("read %s from byte %d", s.at, s.read), s.at.bucket, cut)
}

// close ends the request.
func (s *stream) close() {
	s.stop(nil)
	s.body.Close()
}

// pause waits longer with each try: 50 ms to 800 ms.
func pause(ctx context.Context, try int) error {
	timer := time.NewTimer(50 * time.Millisecond << min(try, 4))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// proven remembers marks that were read and are of the present version of their object, so that another look at the
// same two reads none. It forgets what was not asked for in a long time, which costs a request. It is safe for
// concurrent use.
type proven struct {
	mu          sync.Mutex
	now, before map[listed]listed // marks by their objects, both as a listing shows them
}

// maxProven is how many are remembered at least.
const maxProven = 1 << 15

func newProven() *proven { return &proven{now: map[listed]listed{}} }

func (p *proven) has(object, mark listed) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, ok := p.now[object]
	if !ok {
		if m, ok = p.before[object]; ok && m == mark {
			p.keep(object, mark)
		}
	}
	return ok && m == mark
}

func (p *proven) add(object, mark listed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(object, mark)
}

func (p *proven) keep(object, mark listed) {
	if len(p.now) >= maxProven {
		p.now, p.before = map[listed]listed{}, p.now
	}
	p.now[object] = mark
}
