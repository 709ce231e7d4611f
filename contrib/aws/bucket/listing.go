package bucket

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
)

// listed is an object as a listing shows it; in JSON, the input of its item.
type listed struct {
	Name     string `json:"name"`
	ETag     string `json:"etag"`
	Modified int64  `json:"modified_ms,omitempty"` // by the clock of the service
}

// cursor is how far a place was listed. By and N tell two pages apart that end at the same name, where a place is listed again and again.
type cursor struct {
	After string `json:"after"` // the name of the last object
	By    string `json:"by,omitempty"`
	N     int64  `json:"n,omitempty"`
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
	by     string // another one for each run
	n      int64  // pages that this run has given
	recent *recent
}

// list is the run of a partition that is named like a place.
func list(ctx context.Context, g *rota.Grant, s service) error {
	p, err := parsePlace(g.Key)
	if err != nil {
		return err
	}
	if m, err := parsePlace(s.config.Marks); err == nil && (p.holds(m) || m.holds(p)) {
		return fmt.Errorf("list %s: the marks in %s would be listed, or objects taken for marks: put them elsewhere", p, m)
	}
	l := &listing{service: s, place: p, by: rand.Text(), recent: newRecent(2 * (s.config.Window + maxPage))}
	return work.Partitioner{Window: s.config.Window, Poll: time.Duration(s.config.Poll), List: func(ctx context.Context, _ *rota.Grant, at []byte, limit int) (rota.Page, error) {
		return l.next(ctx, at, limit)
	}}.Run(ctx, g)
}

// next looks for objects until there are some, or none are left. What it passes over costs requests, and no entry of the cluster's log.
func (l *listing) next(ctx context.Context, at []byte, limit int) (rota.Page, error) {
	c, err := decodeCursor(at)
	if err != nil {
		return rota.Page{}, err
	}
	l.recent.settle(at)
	from := c
	for {
		page, err := l.page(ctx, c.After, limit)
		if err != nil {
			return rota.Page{}, err
		}
		found := page.objects
		if l.config.Follow == Marks {
			if found, err = l.unmarked(ctx, c.After, page); err != nil {
				return rota.Page{}, err
			}
		}
		if l.again() {
			found = l.recent.sift(found)
		}
		c.After = page.last
		items, last := l.items(found)
		switch {
		case len(items) < len(found): // the inputs were too large for one step
			return l.give(found[:len(items)], items, last), nil
		case page.end:
			return l.atEnd(found, items, from, c, at), nil
		case len(items) > 0:
			return l.give(found, items, page.last), nil
		}
	}
}

// give makes a page that ends at a name.
func (l *listing) give(found []listed, items []rota.Item, last string) rota.Page {
	c := cursor{After: last}
	if l.again() {
		l.n++
		c.By, c.N = l.by, l.n
	}
	p := rota.Page{Items: items, Cursor: c.encode()}
	l.recent.expect(found, p.Cursor)
	return p
}

// again tells whether the place is listed from its beginning when its end was reached.
func (l *listing) again() bool { return l.config.Follow == Marks || l.config.Follow == Delete }

func (l *listing) atEnd(found []listed, items []rota.Item, from, c cursor, at []byte) rota.Page {
	end := l.config.Follow == Once
	switch {
	case len(items) == 0 && (l.again() && from.After == "" || c.After == from.After):
		return rota.Page{Cursor: at, End: end} // all was looked at and nothing is new: nothing is written
	case !l.again():
		return rota.Page{Items: items, Cursor: cursor{After: c.After}.encode(), End: end}
	}
	return l.give(found, items, "")
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
	in := &s3.ListObjectsV2Input{Bucket: &p.bucket, MaxKeys: aws.Int32(int32(limit)), EncodingType: types.EncodingTypeUrl} //nolint:gosec // at most maxPage
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
