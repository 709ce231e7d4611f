package elastic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/log"
	"github.com/rota-run/rota/store/internal/remote"
)

// ErrDamaged marks data that exists but is not what this store wrote: another program changed it.
var ErrDamaged = log.ErrDamaged

// fault is what a server says of a request that it did not do as asked.
type fault struct{ Type, Reason string }

// faultOf reads the fault in an answer.
func faultOf(a answer) fault {
	var b struct{ Error json.RawMessage } // some say it as a text
	var f fault
	if json.Unmarshal(a.body, &b) != nil || json.Unmarshal(b.Error, &f) != nil {
		f.Reason = string(a.body)
	}
	return f
}

// refusal gives an answer to a request that was not done its meaning; proof reports whether it proves that nothing was
// changed.
func (f fault) refusal(status int) (meaning error, proof bool) {
	said := fmt.Errorf("status %d: %s: %.400s", status, f.Type, f.Reason)
	if f.Type == "" {
		said = fmt.Errorf("status %d: %.200q", status, f.Reason)
	}
	switch {
	case f.Type == "cluster_block_exception":
		return fmt.Errorf("%w: %w: %s", store.ErrUnavailable, said, blockHint(f.Reason)), true
	case f.Type == "index_not_found_exception":
		return fmt.Errorf("%w: %w: the index was removed: stop all members, and start them again to begin with an empty store", store.ErrUnavailable, said), true
	case status == 401:
		return fmt.Errorf("%w: check user and password, or the API key", said), true
	case status == 403:
		return fmt.Errorf("%w: grant the user, or the API key, the privileges of docs/stores/elastic.md", said), true
	case status == 413:
		return fmt.Errorf("%w: %w (the server's http.max_content_length is below its default)", store.ErrTooLarge,
			said), true
	case status == 429:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, said), true
	case status >= 300 && status < 500:
		return said, true
	}
	return said, false
}

// blockHint says what to do about what blocks an index or a cluster.
func blockHint(reason string) string {
	switch {
	case strings.Contains(reason, "flood"), strings.Contains(reason, "read-only / allow delete"):
		return "a disk is fuller than its flood stage watermark: free space; the server then unblocks the index"
	case strings.Contains(reason, "read-only"):
		return "somebody made it read-only: set index.blocks.read_only, or cluster.blocks.read_only, to null"
	case strings.Contains(reason, "no master"), strings.Contains(reason, "cluster_manager"),
		strings.Contains(reason, "cluster-manager"):
		return "most of the nodes that can be master must run and reach each other"
	}
	return "see GET /_cluster/health and the settings of the index"
}

// of is refusal as an error; a request of which the answer proves nothing ends with another one.
func (f fault) of(status int, without error) error {
	meaning, proof := f.refusal(status)
	if proof {
		return meaning
	}
	return fmt.Errorf("%w: %w", without, meaning)
}

// writeError gives the answer to a change that was not done, or perhaps was, its meaning.
func writeError(a answer) error { return faultOf(a).of(a.status, store.ErrUnknown) }

// readError gives the answer to a call that changes nothing its meaning.
func readError(a answer) error { return faultOf(a).of(a.status, store.ErrUnavailable) }

// hint adds what to try to an error of a connection.
func hint(err error) error {
	const product = "Elasticsearch or OpenSearch"
	what := remote.ConnectHint(err, product, "HTTP response to HTTPS client")
	switch {
	case what != "":
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), remote.Says(err, "malformed HTTP"):
		what = "if the server wants TLS, try with TLS"
	case errors.Is(err, context.DeadlineExceeded):
		what = "check that " + product + " runs there"
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, what)
}

// unknown says that a call may have changed something, and why nobody can tell.
func unknown(why error) error {
	if errors.Is(why, store.ErrUnknown) {
		return why
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, why)
}
