package localsock

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// ErrNobody is returned where no member answers.
var ErrNobody = errors.New("no member on this machine answers")

const (
	// nextAfter is how long one member is waited for before the next one is asked, too.
	nextAfter = 100 * time.Millisecond
	// askedMost is how many members are asked at most.
	askedMost = 64
	// maxAnswer is the maximum size of an answer in bytes.
	maxAnswer = 4 << 20
)

// Ask asks the members of a directory for an HTTP path, always in the same order, and returns the first answer with
// status 200, of at most 4 MiB. The next member is asked when one has refused, or has not answered for 100 ms. If none
// answers until ctx ends, it returns ErrNobody.
func Ask(ctx context.Context, dir, path string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers, asked := each(ctx, dir, path)
	for range asked {
		if a := <-answers; a != nil {
			return a, nil
		}
	}
	return nil, ErrNobody
}

// each asks the members, with a pause between two. As many answers come as it says; nil is none.
func each(ctx context.Context, dir, path string) (<-chan []byte, int) {
	d, err := open(dir)
	if err != nil {
		return nil, 0
	}
	names := d.sockets()
	names = names[:min(len(names), askedMost)]
	answers := make(chan []byte, len(names))
	go func() {
		defer d.close()
		var wg sync.WaitGroup
		defer wg.Wait()
		refused := make(chan struct{}, len(names))
		for i, name := range names {
			if i > 0 {
				await(ctx, refused)
			}
			wg.Go(func() {
				a := d.get(ctx, name, path)
				answers <- a
				if a == nil {
					refused <- struct{}{}
				}
			})
		}
	}()
	return answers, len(names)
}

// await waits for one of three things.
func await(ctx context.Context, refused <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-refused:
	case <-time.After(nextAfter):
	}
}

// get asks one member; nil if there is no answer.
func (d *directory) get(ctx context.Context, name, path string) []byte {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://member"+path, nil)
	if err != nil {
		return nil
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return d.dial(ctx, name) },
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil || resp.StatusCode != http.StatusOK || len(answer) > maxAnswer {
		return nil
	}
	return answer
}
