package datastore

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/datastore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// found is an entity with its key.
type found struct {
	key *datastore.Key
	entity
}

// reader asks Datastore for tasks.
type reader struct {
	client *datastore.Client
	c      TasksConfig
}

func dial(ctx context.Context, p Place) (*datastore.Client, error) {
	database := p.Database
	if database == "" {
		database = datastore.DefaultDatabaseID
	}
	client, err := datastore.NewClientWithDatabase(ctx, p.Project, database, p.Options...)
	if err != nil {
		return nil, fmt.Errorf("open Datastore of project %s: %w (try: gcloud auth application-default login, or GOOGLE_APPLICATION_CREDENTIALS)", p.Project, err)
	}
	return client, nil
}

func (r reader) query() *datastore.Query {
	return datastore.NewQuery(r.c.Kind).Namespace(r.c.Namespace)
}

// keys are those of all tasks that the filter takes.
func (r reader) keys(ctx context.Context) ([]*datastore.Key, error) {
	q := r.query().KeysOnly()
	for _, token := range r.c.Filter {
		q = q.FilterField("metadata", "=", token)
	}
	keys, err := r.client.GetAll(ctx, q, nil)
	return keys, r.explain("read the keys", err)
}

// since are the tasks that were updated after a time, also those that the filter does not take: one may have lost its
// metadata.
func (r reader) since(ctx context.Context, ms int64) ([]found, error) {
	var entities []entity
	keys, err := r.client.GetAll(ctx, r.query().FilterField("last_updated", ">", ms), &entities)
	if err != nil {
		return nil, r.explain("ask for updates", err)
	}
	out := make([]found, len(keys))
	for i, k := range keys {
		out[i] = found{k, entities[i]}
	}
	return out, nil
}

// mostKeys is how many keys one call may have.
const mostKeys = 1000

// get reads tasks by their keys; what is not there is left out.
func (r reader) get(ctx context.Context, keys []*datastore.Key) ([]found, error) {
	var out []found
	for len(keys) > 0 {
		some := keys[:min(len(keys), mostKeys)]
		keys = keys[len(some):]
		entities := make([]entity, len(some))
		err := r.client.GetMulti(ctx, some, entities)
		var each datastore.MultiError
		if err != nil && !errors.As(err, &each) {
			return nil, r.explain("read tasks", err)
		}
		for i, k := range some {
			switch {
			case each == nil || each[i] == nil:
				out = append(out, found{k, entities[i]})
			case !errors.Is(each[i], datastore.ErrNoSuchEntity):
				return nil, r.explain("read task "+k.String(), each[i])
			}
		}
	}
	return out, nil
}

func (r reader) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	return explain(doing+" of kind "+r.c.Kind, r.c.Place, err)
}

// explain says what to try.
func explain(doing string, p Place, err error) error {
	err = fmt.Errorf("%s in Datastore of %s: %w", doing, p, err)
	hint := ""
	switch status.Code(rootOf(err)) {
	case codes.PermissionDenied:
		hint = "give the member's account the role Cloud Datastore User"
	case codes.Unauthenticated:
		hint = "renew the credentials of the member's account"
	case codes.NotFound:
		hint = "look at the names of the project and the database"
	case codes.Unavailable, codes.DeadlineExceeded:
		hint = "look whether Datastore is reached from here"
	}
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w (try: %s)", err, hint)
}

// rootOf is the error of the call that is wrapped in another one.
func rootOf(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		if _, ok := inner.(interface{ GRPCStatus() *status.Status }); ok {
			return inner
		}
		err = inner
	}
}
