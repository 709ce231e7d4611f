package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rota-run/rota"
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
