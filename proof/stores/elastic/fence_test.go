package elastic_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/lock/fence"
)

// TestFencedDocument: a server refuses what a former owner writes or deletes.
func TestFencedDocument(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		servers := s.Server(t).Servers()
		path := "/" + on(t, servers).Index + "/_doc/report"
		write := func(token cluster.Token) int {
			status, _ := rest(t, servers, http.MethodPut, path+"?"+fence.Elastic(token).Encode(),
				fmt.Sprintf(`{"by":%d}`, token))
			return status
		}
		if got := []int{write(7), write(7), write(9), write(7)}; !slices.Equal(got, []int{201, 200, 200, 409}) {
			t.Errorf("the tokens 7, 7, 9, 7 are answered %v", got)
		}
		if status, _ := rest(t, servers, http.MethodDelete, path+"?"+fence.Elastic(7).Encode(),
			""); status != http.StatusConflict {
			t.Errorf("a delete of a former owner is answered %d", status)
		}
		if _, text := rest(t, servers, http.MethodGet, path, ""); !strings.Contains(string(text), `"by":9`) {
			t.Errorf("the document is %s", text)
		}
	})
}
