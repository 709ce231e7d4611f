package command

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/node/guardian"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/command/demo"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
)

// stage is where demonstrations are played: each round has a place of its own.
type stage struct {
	env
	base, query string // of the places
	memory      bool   // inside this process
	round       int
	stop        func() error
}

// newStage starts a server where the text is that of one alone, "etcd:", "nats:" or "postgres:"; else it is a store that is there.
func newStage(ctx context.Context, e env, text string) (*stage, error) {
	s := &stage{env: e, stop: func() error { return nil }}
	switch scheme, rest, _ := strings.Cut(text, ":"); {
	case text == "":
	case scheme == "file":
		dir, err := storeDirectory(text)
		if err != nil {
			return nil, err
		}
		if err := notAFile(dir); err != nil {
			return nil, err
		}
		abs, err := filepath.Abs(dir) // the members work in a directory of their own
		if err != nil {
			return nil, fmt.Errorf("store file:%s: %w", dir, err)
		}
		s.base = "file:" + filepath.Join(abs, "demo") // the store makes it, for its owner alone
	case text == "memory:":
		s.memory = true
	case scheme == "memory":
		return nil, misused("rota demo --store memory:", "store memory: takes nothing behind the colon")
	case rest == "" && (scheme == "etcd" || scheme == "nats" || scheme == "postgres"):
		if err := s.serve(ctx, scheme); err != nil {
			return nil, err
		}
	default:
		if err := answers(ctx, e, text); err != nil {
			return nil, err
		}
		s.onServer(text)
	}
	return s, nil
}

// helloWithin bounds how long a demonstration waits for the first answer of a server.
const helloWithin = 5 * time.Second

// answers verifies that a server can be used before members are started that would wait for it.
func answers(ctx context.Context, e env, text string) error {
	if err := stores.Check(text, e.storeOptions("", member)); err != nil {
		return storeFault(text, "", member, err)
	}
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	st, err := openBeside(ctx, e, text, checkSuffix, member)
	if err == nil {
		defer st.Close()
		if _, err = st.Get(ctx, protocol.PlaceKey); errors.Is(err, store.ErrNotFound) {
			err = nil
		}
	}
	if err != nil {
		return failed("rota store check "+plain.Word(storeurl.Hide(text))+"; or rota demo without --store", "store %s cannot be used: %w", storeurl.Hide(text), err)
	}
	return nil
}

// onServer plays beside a place on a server that runs. In a database the place is a schema, the second part of the path.
func (s *stage) onServer(text string) {
	base, query, _ := strings.Cut(text, "?")
	parts := 3 // slashes of a URL with a place
	if strings.HasPrefix(text, "postgres:") {
		parts++
		values, _ := url.ParseQuery(query) // it was checked
		if schema := values.Get("schema"); schema != "" {
			base = strings.TrimRight(base, "/") + "/" + schema
			values.Del("schema")
			query = values.Encode()
		}
	}
	if query != "" {
		s.query = "?" + query
	}
	for base = strings.TrimRight(base, "/"); strings.Count(base, "/") < parts; {
		base += "/" + storeurl.DefaultPath
	}
	s.base = base + "-demo"
}

// next is the place of the next round; nil for a fresh directory.
func (s *stage) next() *demo.Server {
	if s.memory {
		return insideServer(s.env)
	}
	if s.base == "" {
		return nil
	}
	s.round++
	text := fmt.Sprintf("%s-%d-%d%s", s.base, time.Now().Unix(), s.round, s.query)
	return &demo.Server{
		Store: text, Name: storeurl.Hide(text), Silent: !strings.HasPrefix(text, "file:") && !guardian.Supported, Polled: strings.HasPrefix(text, "elastic:"),
		Open: func(ctx context.Context) (store.Full, error) { return openStore(ctx, s.env, text, look) },
	}
}
