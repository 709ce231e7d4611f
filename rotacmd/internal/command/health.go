package command

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/api"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

// healthWithin bounds the whole question.
const healthWithin = 5 * time.Second

const healthHelp = `Asks the API of a member whether it can do its work, for probes of containers and for scripts: exit 0 if it can, else 1 with the reasons.
With --live it asks only whether the process answers.`

// newHealth is for images without a shell and an HTTP client.
func newHealth(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "health [URL]", Short: "ask a member whether it can do its work", Long: healthHelp, Args: cobra.MaximumNArgs(1)}
	live := cmd.Flags().Bool("live", false, "only whether the process answers")
	token := cmd.Flags().String("api-token", "", "token of the API: env:NAME or file:/path")
	cert := cmd.Flags().String("tls-cert", "", "lease this certificate, PEM, for whatever name the URL has")
	asked(cmd.Flags(), "live")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		url := "http://" + api.DefaultAddress
		if *cert != "" {
			url = "https://" + api.DefaultAddress
		}
		if len(args) == 1 {
			url = strings.TrimSuffix(args[0], "/")
		}
		path := "/readyz"
		if *live {
			path = "/healthz"
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), healthWithin)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
		if err != nil {
			return misused("rota health http://"+api.DefaultAddress, "%q is not a URL", url)
		}
		if *token != "" {
			secret, err := storeurl.Secret(*token, e.getenv)
			if err != nil {
				return misused("--api-token env:NAME", "api-token: %w", err)
			}
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		client, err := clientTrusting(*cert)
		if err != nil {
			return err
		}
		return ask(e, client, r)
	}
	return cmd
}

// clientTrusting makes a client that takes one certificate and no other, whatever the name in it: a probe asks by an address.
func clientTrusting(path string) (*http.Client, error) {
	if path == "" {
		return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, nil
	}
	pem, err := os.ReadFile(path)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		return nil, misused("--tls-cert cert.pem", "read the certificate %s: %w", path, errors.Join(err, errors.New("it has to be PEM")))
	}
	verify := func(s tls.ConnectionState) error {
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots})
		return err
	}
	settings := &tls.Config{InsecureSkipVerify: true, VerifyConnection: verify, MinVersion: tls.VersionTLS12} //nolint:gosec // verified below, but for the name
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: settings}}, nil
}

func ask(e env, client *http.Client, r *http.Request) error {
	answer, err := client.Do(r)
	if err != nil {
		return failed("look whether the member runs, and at its line \"API http://…\"", "no answer from %s: %w", r.URL.Redacted(), errors.Unwrap(err))
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", r.URL.Redacted(), err)
	}
	if answer.StatusCode == http.StatusOK {
		_, err := fmt.Fprintln(e.stdout, "ok")
		return err
	}
	var why struct {
		Reasons []string `json:"reasons"`
		Error   string   `json:"error"`
	}
	if json.Unmarshal(body, &why) != nil || why.Error == "" && len(why.Reasons) == 0 {
		why.Error = answer.Status
	}
	return failed("rota status --check", "not ready: %s", strings.Join(append(why.Reasons, why.Error), "; "))
}
