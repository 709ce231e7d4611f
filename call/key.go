package call

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
)

const (
	// prefix is where calls are: call/<queue>/<page>/<number>. The part behind it is the ID of the call.
	prefix = "call/"
	// pagePrefix is where the pages are: callpage/<queue>/<page>. A call runs only while its page is there.
	pagePrefix = "callpage/"
)

// pageSize and pageBytes bound one page: a member that looks for work lists a page as a whole.
const (
	pageSize  = 128
	pageBytes = 1 << 20
)

// place is where a call is.
type place struct {
	queue, page string
	number      int
}

func (p place) id() string   { return fmt.Sprintf("%s/%s/%03d", p.queue, p.page, p.number) }
func (p place) key() string  { return prefix + p.id() }
func (p place) dir() string  { return prefix + p.queue + "/" + p.page + "/" }
func (p place) head() string { return pagePrefix + p.queue + "/" + p.page }

// parseID reads an ID as [Handle.ID] gives it.
func parseID(id string) (place, error) {
	parts := strings.Split(id, "/")
	if len(parts) == 3 && cluster.CheckName(parts[0]) == nil && cluster.CheckName(parts[1]) == nil {
		n, err := strconv.Atoi(parts[2])
		if p := (place{parts[0], parts[1], n}); err == nil && p.id() == id {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("%q is not the ID of a call: one looks like %q", id, place{"caller", "5f0c19aa-000001", 7}.id())
}

// parseHead reads the key of a page.
func parseHead(key string) (place, bool) {
	queue, page, ok := strings.Cut(strings.TrimPrefix(key, pagePrefix), "/")
	return place{queue: queue, page: page}, ok && !strings.Contains(page, "/")
}

// submitter is the part of a page's name that all pages of one start of one client share.
func (p place) submitter() string {
	s, _, _ := strings.Cut(p.page, "-")
	return p.queue + "/" + s
}
