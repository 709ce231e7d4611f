package elastic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/rota-run/rota/store"
)

// Put implements store.Docs.
func (s *Store) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	v, err := s.put(ctx, d)
	if err != nil {
		return "", s.wrap(err, "put %q", d.Key)
	}
	return v, nil
}

func (s *Store) put(ctx context.Context, d store.Doc) (store.Version, error) {
	if err := store.CheckKey(d.Key); err != nil {
		return "", err
	}
	if err := checkSize(d.Value); err != nil {
		return "", err
	}
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	at, known := spotOf(d.Version)
	if d.Version != "" && !known {
		return "", store.ErrConflict // no document has such a version
	}
	return s.write(ctx, d, at, false)
}

// write puts a document if it is still at a spot, or does not exist. It sends it once more in another form where the server refuses to parse it: what a JSON
// object may be differs.
func (s *Store) write(ctx context.Context, d store.Doc, at spot, plain bool) (store.Version, error) {
	w := writing{key: d.Key, by: s.newName(), at: at, exists: d.Version != ""}
	text, err := encode(d, w.by, plain)
	if err != nil {
		return "", err
	}
	method, path := "PUT", s.path("_create", d.Key)
	if w.exists {
		path = s.path("_doc", d.Key) + "?" + at.condition()
	}
	a, err := s.change(ctx, request{method, path, text})
	switch {
	case err != nil:
		return "", err
	case a.good():
		return s.wrote(d.Key, a)
	case a.status == 409:
		return s.contest(ctx, w)
	case a.status == 400 && !plain && isObject(d.Value):
		return s.write(ctx, d, at, true)
	}
	return "", writeError(a)
}

func (s *Store) path(verb, key string) string {
	return "/" + s.o.Index + "/" + verb + "/" + url.PathEscape(key)
}

// wrote is the version that an acknowledged write gave.
func (s *Store) wrote(key string, a answer) (store.Version, error) {
	var h hit
	if err := json.Unmarshal(a.body, &h); err != nil || h.Term == 0 {
		return "", fmt.Errorf("%w: the answer to a write: %.200q", store.ErrUnknown, a.body)
	}
	at := spot{h.Seq, h.Term}
	s.settling.note(key, at)
	return at.version(), nil
}

// Delete implements store.Docs.
func (s *Store) Delete(ctx context.Context, key string, v store.Version) error {
	return s.wrap(s.remove(ctx, key, v), "delete %q", key)
}

func (s *Store) remove(ctx context.Context, key string, v store.Version) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return err
	}
	defer leave()
	at, known := spotOf(v)
	if !known {
		return s.standing(ctx, key)
	}
	a, err := s.change(ctx, request{"DELETE", s.path("_doc", key) + "?" + at.condition(), nil})
	switch {
	case err != nil:
		return err
	case a.good():
		s.settling.forget(key)
		return nil
	case a.status == 409 || a.status == 404 && faultOf(a).Type == "":
		return s.standing(ctx, key)
	}
	return writeError(a)
}

// standing is why a document could not be deleted: it has another version, or does not exist.
func (s *Store) standing(ctx context.Context, key string) error {
	found, err := s.settled(ctx, []string{key})
	switch {
	case err != nil:
		return err
	case found[0].Version == "":
		return store.ErrNotFound
	}
	return store.ErrConflict
}

// writing is a write that was refused with a conflict.
type writing struct {
	key, by string
	at      spot
	exists  bool // it was to replace what is at that spot
}

// looks is how often a document is looked at that must have changed, and pauseOfLooks the time between two looks.
const (
	looks        = 20
	pauseOfLooks = 5 * time.Millisecond
)

// contest settles a conflict. A server whose primary dies makes a write again by itself, and then meets what the first attempt wrote. So what is there now
// is read: it may be ours. And what another has written counts only once it cannot be lost any more.
func (s *Store) contest(ctx context.Context, w writing) (store.Version, error) {
	for range looks {
		found, err := s.settled(ctx, []string{w.key})
		if err != nil {
			return "", unknown(err)
		}
		f := found[0]
		switch {
		case f.Version != "" && f.by == w.by:
			return s.affirm(ctx, f)
		case w.exists && (f.Version == "" || f.spot != w.at), !w.exists && f.Version != "":
			return "", store.ErrConflict
		}
		if !pause(ctx, pauseOfLooks) { // the one that was first may not be everywhere yet, or was lost with its primary
			return "", unknown(context.Cause(ctx))
		}
	}
	return "", unknown(fmt.Errorf("the server refuses to change %q with a conflict, and it is as it was before", w.key))
}

// affirm writes our own document again that was read back without an acknowledgement. Once that is acknowledged, both are done.
func (s *Store) affirm(ctx context.Context, f finding) (store.Version, error) {
	text, err := encode(f.Doc, f.by, !isObject(f.Value))
	if err != nil {
		return "", unknown(err)
	}
	a, err := s.change(ctx, request{"PUT", s.path("_doc", f.Key) + "?" + f.condition(), text})
	switch {
	case err != nil:
		return "", unknown(err)
	case a.good():
		return s.wrote(f.Key, a)
	}
	return "", unknown(writeError(a))
}
