package bucket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
)

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

// unmarked leaves out the objects of a page that have a newer mark. One of the same second stays in: its run looks into the mark.
func (l *listing) unmarked(ctx context.Context, after string, p page) ([]listed, error) {
	if len(p.objects) == 0 {
		return nil, nil
	}
	all := l.markOf(l.place.bucket, l.place.prefix)
	base := l.markOf(l.place.bucket, "").prefix
	behind, end := "", base+p.last
	if after != "" {
		behind = base + after
	}
	marked := make(map[string]int64, len(p.objects))
	for done := false; !done; {
		marks, err := l.pageOf(ctx, all, behind, maxPage)
		if err != nil {
			return nil, err
		}
		for _, m := range marks.objects {
			marked[m.Name] = m.Modified
		}
		behind, done = marks.last, marks.end || marks.last >= end
	}
	var out []listed
	for _, o := range p.objects {
		if marked[base+o.Name] <= o.Modified {
			out = append(out, o)
		}
	}
	return out, nil
}

// maxMark bounds what is read of a mark, which somebody else may have written.
const maxMark = 64 << 10

// readMark returns the mark of an object and its version, "" where there is none.
func (s service) readMark(ctx context.Context, at place) (m mark, version string, err error) {
	resp, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &at.bucket, Key: &at.prefix})
	switch {
	case err != nil && status(err) == http.StatusNotFound && code(err) != "NoSuchBucket":
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
		in := &s3.PutObjectInput{Bucket: &at.bucket, Key: &at.prefix, Body: bytes.NewReader(data), ContentType: aws.String("application/json")}
		if version == "" {
			in.IfNoneMatch = aws.String("*")
		} else {
			in.IfMatch = &version
		}
		_, fault = s.client.PutObject(ctx, in)
		if fault == nil {
			return nil
		}
		if c := status(fault); c != http.StatusPreconditionFailed && c != http.StatusConflict {
			return s.explain("write the mark "+at.String(), at.bucket, fault)
		}
	}
	return errors.Join(err, fmt.Errorf("write the mark %s: others write it all the time", at))
}
