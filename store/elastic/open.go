package elastic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// Open opens the store in o.Index, and creates it if it does not exist and the options allow that. An error says where, what and what to try;
// nothing is left open then. ctx bounds Open only.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open elastic store: %w", err)
	}
	s := newStore(o)
	if err := s.open(ctx); err != nil {
		_ = s.Close() // the first error is the one that matters
		return nil, s.place.Failed(err, "open store")
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.checkServer(ctx); err != nil {
		return err
	}
	if err := s.identify(ctx); err != nil {
		return err
	}
	return s.checkHealth(ctx)
}

// checkServer refuses servers that are too old, or something else.
func (s *Store) checkServer(ctx context.Context) error {
	a, err := s.ask(ctx, request{"GET", "/", nil})
	if err != nil {
		return err
	}
	if a.status == 405 { // a server without that page
		if a, err = s.ask(ctx, request{"GET", "/_nodes/_local?filter_path=nodes.*.version", nil}); err != nil {
			return err
		}
	}
	if a.status == 403 {
		s.log.Debug("no right to ask the server for its version", "answer", string(a.body))
		return nil
	}
	if !a.good() {
		return notOurs(a)
	}
	number, opensearch, err := versionOf(a)
	if err != nil {
		return err
	}
	return checkVersion(number, opensearch)
}

// notOurs is the error for an answer that a search server may have given, or some other one.
func notOurs(a answer) error {
	if !json.Valid(a.body) && a.status != 401 {
		return fmt.Errorf("the server answers with status %d: this is not Elasticsearch or OpenSearch: check the port", a.status)
	}
	return readError(a)
}

// versionOf reads the version out of either page.
func versionOf(a answer) (number string, opensearch bool, err error) {
	var page struct {
		Version struct {
			Number       string `json:"number"`
			Distribution string `json:"distribution"`
		} `json:"version"`
		Nodes map[string]struct {
			Version string `json:"version"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal(a.body, &page); err != nil {
		return "", false, errors.New("this is not Elasticsearch or OpenSearch: check the port")
	}
	for _, n := range page.Nodes {
		return n.Version, !a.elastic, nil // order-free: one node was asked
	}
	if page.Version.Number == "" {
		return "", false, errors.New("this is not Elasticsearch or OpenSearch: check the port")
	}
	return page.Version.Number, page.Version.Distribution == "opensearch", nil
}

// The oldest supported versions.
const (
	oldestElastic    = 8
	oldestOpenSearch = 2
)

func checkVersion(number string, opensearch bool) error {
	name, oldest := "Elasticsearch", oldestElastic
	if opensearch {
		name, oldest = "OpenSearch", oldestOpenSearch
	}
	first, _, _ := strings.Cut(number, ".")
	if major, err := strconv.Atoi(first); err != nil || major < oldest {
		return fmt.Errorf("the server is %s %.20s: it must be at least %d.0", name, number, oldest)
	}
	return nil
}

// identify checks the index, and creates it if there is none.
func (s *Store) identify(ctx context.Context) error {
	exists, err := s.inspect(ctx)
	switch {
	case err != nil || exists:
		return err
	case s.o.MustExist:
		return fmt.Errorf("there is no index %q: check the name, or start a member first: %w", s.o.Index, store.ErrNotFound)
	}
	text, err := creation(s.o.Copies)
	if err != nil {
		return err
	}
	a, err := s.change(ctx, request{"PUT", "/" + s.o.Index + "?timeout=" + s.patience(), text})
	made := err == nil && a.good() || errors.Is(err, store.ErrUnknown) || err == nil && faultOf(a).Type == "resource_already_exists_exception"
	if !made {
		if err == nil {
			err = driver.NotDone(writeError(a))
		}
		return err
	}
	if exists, err = s.inspect(ctx); err == nil && !exists { // whoever made it, it must be the right one
		err = fmt.Errorf("%w: the index %q could not be made in time", store.ErrUnavailable, s.o.Index)
	}
	return err
}

// patience is the handle's timeout as a server wants it.
func (s *Store) patience() string { return fmt.Sprintf("%dms", s.o.Timeout.Milliseconds()) }

// inspect checks the index, if it exists.
func (s *Store) inspect(ctx context.Context) (exists bool, err error) {
	a, err := s.ask(ctx, request{"GET", "/" + s.o.Index, nil})
	if err != nil {
		return false, err
	}
	if a.status == 404 && faultOf(a).Type == "index_not_found_exception" {
		return false, nil
	}
	if !a.good() {
		return false, notOurs(a)
	}
	var found map[string]index
	if err := json.Unmarshal(a.body, &found); err != nil {
		return false, fmt.Errorf("the answer about the index %q: %w", s.o.Index, err)
	}
	i, ok := found[s.o.Index]
	if !ok || len(found) != 1 {
		return false, fmt.Errorf("%q is an alias or a data stream, and not an index: give the name of an index", s.o.Index)
	}
	return true, i.check(s.o.Index, !s.o.ReadOnly)
}

// checkHealth waits a moment until the shard can be read and written. A new one that is not there yet counts as yellow.
func (s *Store) checkHealth(ctx context.Context) error {
	wait := s.o.Timeout / 2
	path := fmt.Sprintf("/_cluster/health/%s?wait_for_status=yellow&wait_for_active_shards=1&timeout=%dms", s.o.Index, wait.Milliseconds())
	a, err := s.ask(ctx, request{"GET", path, nil})
	if err != nil {
		return err
	}
	if a.status == 403 {
		s.log.Debug("no right to ask for the health of the index", "answer", string(a.body))
		return nil
	}
	var health struct {
		Status string `json:"status"`
		Active int    `json:"active_primary_shards"`
	}
	if err := json.Unmarshal(a.body, &health); err != nil || health.Status == "" {
		return readError(a)
	}
	if health.Status != "red" && health.Active > 0 {
		_, who, err := s.checkpoint(ctx) // so that the first read need not ask twice
		s.settling.same(who)
		return err
	}
	return fmt.Errorf("%w: the health of the index %q is red: no node that has its newest copy is up: start the missing nodes; GET /_cluster/allocation/explain says more",
		store.ErrUnavailable, s.o.Index)
}
