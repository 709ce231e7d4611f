package elastic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// Put implements store.Docs.
func (s *Store) Put(ctx context.Context, d store.Doc) (_ store.Version, err error) {
	defer s.place.Wrap(&err, "put %q", d.Key)
	if err := store.CheckKey(d.Key); err != nil {
		return "", err
	}
	if err := driver.CheckSize(d.Value, MaxValue); err != nil {
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
	return s.write(ctx, d, at)
}

// write puts a document if it is still at a spot, or does not exist.
func (s *Store) write(ctx context.Context, d store.Doc, at spot) (store.Version, error) {
	w := writing{Doc: d, by: s.newName(), at: at, exists: d.Version != ""}
	for range looks {
		a, err := s.sendWrite(ctx, w)
		switch {
		case err != nil:
			return "", err
		case a.good():
			return s.wrote(d.Key, a)
		case a.status != 409:
			return "", writeError(a)
		}
		v, err := s.contest(ctx, w)
		if err != nil || v != "" {
			return v, err
		}
		if !pause(ctx, pauseOfLooks) {
			return "", context.Cause(ctx) // each attempt was refused
		}
	}
	return "", fmt.Errorf("%w: the server refuses it with a conflict each time, and the document is as it was before", store.ErrUnavailable)
}

// writing is a write under its name.
type writing struct {
	store.Doc
	by     string
	at     spot
	exists bool // it is to replace what is at that spot
}

// sendWrite sends a write, and once more in another form where the server refuses to parse it: servers differ in what a JSON object may be.
func (s *Store) sendWrite(ctx context.Context, w writing) (answer, error) {
	path := s.path("_create", w.Key)
	if w.exists {
		path = s.path("_doc", w.Key) + "?" + w.at.condition()
	}
	for _, plain := range []bool{!isObject(w.Value), true} {
		text, err := encode(w.Doc, w.by, plain)
		if err != nil {
			return answer{}, err
		}
		a, err := s.change(ctx, request{"PUT", path, text})
		if err != nil || a.status != 400 || plain {
			return a, err
		}
	}
	return answer{}, nil // not reached: the last form is plain
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
	return s.place.Failed(s.remove(ctx, key, v), "delete %q", key)
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
		return s.standing(ctx, key, spot{-1, 0})
	}
	for range looks {
		a, err := s.change(ctx, request{"DELETE", s.path("_doc", key) + "?" + at.condition(), nil})
		switch {
		case err != nil:
			return err
		case a.good():
			s.settling.forget(key)
			return nil
		case a.status != 409 && (a.status != 404 || faultOf(a).Type != ""):
			return writeError(a)
		}
		if err := s.standing(ctx, key, at); err != nil {
			return err
		}
		if !pause(ctx, pauseOfLooks) {
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("%w: the server refuses it with a conflict each time, and the document is as it was before", store.ErrUnavailable)
}

// standing is why a document could not be deleted at a spot: it has another version, or does not exist. It is nil if it is still there.
func (s *Store) standing(ctx context.Context, key string, at spot) error {
	found, err := s.settled(ctx, []string{key})
	switch {
	case err != nil:
		return err
	case found[0].Version == "":
		return store.ErrNotFound
	case found[0].spot != at:
		return store.ErrConflict
	}
	return nil
}

// looks is how often a document that must have changed is read, and pauseOfLooks the pause between two reads.
const (
	looks        = 20
	pauseOfLooks = 5 * time.Millisecond
)

// contest settles a conflict. A server whose primary dies makes a write again by itself, and then meets what the first attempt wrote. So what is there now
// is read: it may be ours. And what another has written counts only if it cannot be lost any more; if it was lost, or removed, neither a version nor an
// error is returned, and the write, which was refused, can be made again.
func (s *Store) contest(ctx context.Context, w writing) (store.Version, error) {
	found, err := s.settled(ctx, []string{w.Key})
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
	return "", nil
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
