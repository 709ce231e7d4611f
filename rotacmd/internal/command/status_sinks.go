package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

// memberSink is a sink of one member.
type memberSink struct {
	Member cluster.MemberID `json:"member"`
	publish.Status
}

const (
	askedForSinks  = 16 // members at most
	sinksWithin    = time.Second
	mostSinksBytes = 1 << 20
)

// sinksOf asks the members' APIs for what only they know: how their sinks do. It leaves out those that do not answer, and those that answer at another's address.
func (o *observer) sinksOf(ctx context.Context) []memberSink {
	ctx, cancel := context.WithTimeout(ctx, sinksWithin)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	all, asked := []memberSink{}, 0
	for m := range o.value.Members() {
		if m.Address == "" || asked == askedForSinks {
			continue
		}
		asked++
		wg.Go(func() {
			found := o.askSinks(ctx, m.ID, m.Address)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, found...)
		})
	}
	wg.Wait()
	slices.SortStableFunc(all, bySinkMember)
	return all
}

func (o *observer) askSinks(ctx context.Context, member cluster.MemberID, address string) []memberSink {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/status", nil)
	if err != nil {
		return nil
	}
	if ref := o.getenv("ROTA_API_TOKEN"); ref != "" {
		if token, err := storeurl.Secret(ref, o.getenv); err == nil {
			req.Header.Set("Authorization", "Bearer "+token)
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var answer struct {
		Local struct {
			Name  cluster.MemberID `json:"name"`
			Sinks []publish.Status `json:"sinks"`
		} `json:"local"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, mostSinksBytes)).Decode(&answer); err != nil || answer.Local.Name != member {
		return nil
	}
	out := make([]memberSink, len(answer.Local.Sinks))
	for i, s := range answer.Local.Sinks {
		out[i] = memberSink{member, s}
	}
	return out
}

// sinkRows are lines for people: of each sink on a server, and of any other one that has failed.
func sinkRows(all []memberSink, now time.Time) [][]string {
	var rows [][]string
	for _, s := range all {
		if !strings.Contains(s.Name, "://") && s.Errors == 0 && s.Dropped == 0 {
			continue
		}
		row := []string{
			"sink", s.Name, "on " + string(s.Member), "queued " + grouped(int(s.Queued)), "sent " + grouped(int(s.Sent)), "dropped " + grouped(int(s.Dropped)),
			"errors " + grouped(int(s.Errors)), "lag " + (time.Duration(s.LagMS) * time.Millisecond).Round(time.Second).String(),
		}
		if s.LastError != "" {
			row = append(row, fmt.Sprintf("last error %s: %s", clock(s.LastErrorAtMS, now), s.LastError))
		}
		rows = append(rows, row)
	}
	return rows
}
