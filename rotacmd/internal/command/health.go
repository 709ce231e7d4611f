package command

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
)

// healthWithin bounds the whole question.
const healthWithin = 5 * time.Second

const healthHelp = `Asks the API of a member whether it can do its work, for probes of containers and for scripts: exit 0 if it can, else 1 with the reasons.
Where a store or a member is known, from a flag, the environment or rota.yaml, a member of another cluster that answers
at the address counts as none.
With --live it asks only whether the process of that member answers there. A token goes over TLS or to this machine only.`

// newHealth is for images without a shell and an HTTP client.
func newHealth(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "health [URL]", Short: "ask a member whether it can do its work", Long: healthHelp,
		Args:    cobra.MaximumNArgs(1),
		Example: "  rota health\n  rota health http://127.0.0.1:7601 --live"}
	flags := cmd.Flags()
	live := flags.Bool("live", false, "only whether the process answers")
	store := flags.String("store", "", "where the members of its cluster meet: "+storeForms)
	member := flags.String("member", "", "its name")
	token := flags.String("api-token", "", "token of the API: env:NAME or file:/path")
	cert := flags.String("tls-cert", "", "trust this certificate, PEM, for whatever name the URL has")
	configFlag(flags)
	asked(flags, "live")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := settle(e, cmd); err != nil {
			return err
		}
		at := "http://" + api.DefaultAddress
		if *cert != "" {
			at = "https://" + api.DefaultAddress
		}
		if len(args) == 1 {
			at = strings.TrimSuffix(args[0], "/")
		}
		p := prober{env: e, member: *member, store: placeOf(*store)}
		path := "/readyz"
		if *live {
			path = p.alivePath()
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), healthWithin)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at+path, nil)
		if err != nil {
			return misused("rota health http://"+api.DefaultAddress, "%q is not a URL", at)
		}
		if err := authorize(r, *token, e.getenv); err != nil {
			return err
		}
		client, err := clientTrusting(*cert)
		if err != nil {
			return err
		}
		return p.ask(client, r, *live)
	}
	return cmd
}

// clientTrusting makes a client that takes one certificate and no other, whatever the name in it: a probe asks by an
// address.
func clientTrusting(path string) (*http.Client, error) {
	if path == "" {
		return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: stay}, nil
	}
	pem, err := os.ReadFile(path)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		return nil, misused("--tls-cert cert.pem", "read the certificate %s: %w", path,
			errors.Join(err, errors.New("it has to be PEM")))
	}
	verify := func(s tls.ConnectionState) error {
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots})
		return err
	}
	settings := &tls.Config{InsecureSkipVerify: true, VerifyConnection: verify, MinVersion: tls.VersionTLS12} //nolint:gosec // verified below, but for the name
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: settings},
		CheckRedirect: stay}, nil
}

// prober asks one member. Of whom it asks is "" where that is not known.
type prober struct {
	env
	member, store string
}

// alivePath asks whether the process answers. Without a token it hears not who answers: it says whom it asks.
func (p *prober) alivePath() string {
	asked := url.Values{}
	if p.member != "" {
		asked.Set("member", p.member)
	}
	if p.store != "" {
		asked.Set("store", p.store)
	}
	return strings.TrimSuffix("/healthz?"+asked.Encode(), "?")
}

// alive judges the answer to that.
func (p *prober) alive(at string, code int, body []byte) error {
	known := p.member != "" || p.store != ""
	if code != http.StatusOK || known && string(body) != api.ItIs {
		return failed("the address that the member wrote when it started: API http://…",
			"what answers at %s is not %s of %s",
			at, cmp.Or(p.member, "a member"), cmp.Or(p.store, "that store"))
	}
	_, err := fmt.Fprintln(p.stdout, "ok")
	return err
}

func (p *prober) ask(client *http.Client, r *http.Request, live bool) error {
	at := r.URL.Scheme + "://" + r.URL.Host + r.URL.Path
	answer, err := client.Do(r)
	if err != nil {
		return failed("look whether the member runs, and at its line \"API http://…\"", "no answer from %s: %w", at,
			errors.Unwrap(err))
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", at, err)
	}
	if live {
		return p.alive(at, answer.StatusCode, body)
	}
	var said struct {
		api.Readiness
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil || said.Error == "" && len(said.Reasons) == 0 && !said.Ready {
		said.Error = "it answers " + answer.Status
	}
	if said.Error == "" && (p.member != "" && said.Member != p.member || p.store != "" && said.Store != p.store) {
		return failed("the address that the member wrote when it started: API http://…",
			"%s is member %s of %s, not %s of %s", at, dash(said.Member), dash(said.Store),
			cmp.Or(p.member, "a member"), cmp.Or(p.store, "that store"))
	}
	if said.Ready {
		_, err := fmt.Fprintf(p.stdout, "ok: member %s of %s\n", printable(dash(said.Member)),
			printable(dash(said.Store)))
		return err
	}
	if answer.StatusCode == http.StatusUnauthorized {
		return failed("--api-token env:NAME; or --live, which needs no token", "%s does not say: %s", at, said.Error)
	}
	return failed("rota status --check", "not ready: %s", strings.Join(append(said.Reasons, said.Error), "; "))
}

// placeOf is where a cluster is, so that two processes on one machine can compare it: without secrets and parameters, a
// directory as an absolute path, servers in one order.
func placeOf(store string) string {
	if dir, err := stores.Directory(store); err == nil && dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		if linked, err := filepath.EvalSymlinks(dir); err == nil {
			dir = linked
		}
		return "file:" + dir
	}
	scheme, rest, ok := strings.Cut(storeurl.Hide(store), "://")
	if !ok {
		return scheme
	}
	hosts, path, _ := strings.Cut(rest[strings.LastIndex(rest, "@")+1:], "/")
	servers := strings.Split(hosts, ",")
	slices.Sort(servers)
	return scheme + "://" + strings.Join(servers, ",") + "/" + path
}
