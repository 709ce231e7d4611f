//go:build !quick

package deploy_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/strvals"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// objects are what a chart makes, by kind.
type objects struct {
	set     *apps.StatefulSet
	service *core.Service
	budget  *policy.PodDisruptionBudget
	account *core.ServiceAccount
	tasks   *core.ConfigMap
	network *networking.NetworkPolicy
	scraped *monitor
	notes   string
}

// monitor is what the Prometheus operator reads of a ServiceMonitor, as far as the chart writes it.
type monitor struct {
	APIVersion, Kind string
	Metadata         struct {
		Name, Namespace string
		Labels          map[string]string
	}
	Spec struct {
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		}
		Endpoints []struct {
			Port, Path, Interval, Scheme string
			Authorization                struct {
				Credentials core.SecretKeySelector `json:"credentials"`
			} `json:"authorization"`
			TLS struct {
				CA         struct{ Secret core.SecretKeySelector } `json:"ca"`
				ServerName string                                  `json:"serverName"`
			} `json:"tlsConfig"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// render lets Helm render the chart, and reads each object as the API of Kubernetes has it: an unknown field is an
// error.
func render(t *testing.T, values map[string]any) (o objects, err error) {
	t.Helper()
	chart, err := loader.LoadDir("helm/rota")
	succeed(t, err)
	all, err := util.ToRenderValues(chart, values,
		common.ReleaseOptions{Name: "weather", Namespace: "checks", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return o, err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return o, err
	}
	for name, text := range files { // order-free: each by itself
		kind := struct {
			Kind string `json:"kind"`
		}{}
		switch {
		case strings.HasSuffix(name, "NOTES.txt"):
			o.notes = text
			continue
		case strings.TrimSpace(text) == "" || strings.HasSuffix(name, ".tpl"):
			continue
		}
		if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		var into any
		switch kind.Kind {
		case "StatefulSet":
			o.set = new(apps.StatefulSet)
			into = o.set
		case "Service":
			o.service = new(core.Service)
			into = o.service
		case "PodDisruptionBudget":
			o.budget = new(policy.PodDisruptionBudget)
			into = o.budget
		case "ServiceAccount":
			o.account = new(core.ServiceAccount)
			into = o.account
		case "ConfigMap":
			o.tasks = new(core.ConfigMap)
			into = o.tasks
		case "NetworkPolicy":
			o.network = new(networking.NetworkPolicy)
			into = o.network
		case "ServiceMonitor":
			o.scraped = new(monitor)
			into = o.scraped
		default:
			t.Fatalf("%s: unknown kind %q", name, kind.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
	}
	return o, nil
}

type values = map[string]any

func opened(more values) values {
	out := values{"api": values{"tlsSecret": "tls", "tokenSecret": values{"name": "token"}}}
	for k, v := range more { // order-free: into a map
		out[k] = v
	}
	return out
}

// withUsers are the settings of an API for users with tokens of their own.
func withUsers() values {
	return values{"tlsSecret": "tls", "tokenSecret": values{"name": "token"}, "usersSecret": values{"name": "people"}}
}

// TestChart renders the chart as people set it up.
func TestChart(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]values{
		"store alone":  {"store": "zookeeper://zk-0.zk/rota"},
		"secret store": {"storeSecret": values{"name": "store", "key": "url"}},
		"tasks":        {"store": "etcd://e/r", "tasks": values{"a.yaml": "type: noop\nevery: 1s\n"}},
		"own tasks":    {"store": "etcd://e/r", "tasksConfigMap": "mine"},
		"open": opened(values{"store": "etcd://e/r", "slots": 4, "protocol": "lease",
			"publish": []any{"kafka://k/?topic=t"}}),
		"users": {"store": "etcd://e/r", "api": withUsers()},
		"kept":  {"store": "etcd://e/r", "persistence": values{"enabled": true, "storageClass": "fast"}},
		"all the rest": {
			"store": "etcd://e/r", "priorityClassName": "high", "podAnnotations": values{"a": "b"},
			"podLabels": values{"team": "x"}, "nodeSelector": values{"disk": "ssd"},
			"tolerations":      []any{values{"key": "k", "operator": "Exists"}},
			"imagePullSecrets": []any{values{"name": "s"}}, "extraArgs": []any{"--label", "zone=a"},
			"env": []any{values{"name": "TOKEN", "value": "x"}}, "affinity": values{"nodeAffinity": values{}},
			"drainTimeout": "45s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := render(t, v)
			succeed(t, err)
			o.check(t, v)
		})
	}
}

// check finds what a member in a pod needs.
func (o *objects) check(t *testing.T, v values) {
	t.Helper()
	if o.set == nil || o.service == nil || o.budget == nil || o.account == nil {
		t.Fatalf("an object is missing: %+v", o)
	}
	pod, one := o.set.Spec.Template.Spec, o.set.Spec.Template.Spec.Containers[0]
	switch {
	case o.set.Spec.UpdateStrategy.Type != apps.RollingUpdateStatefulSetStrategyType ||
		!slices.Contains(one.Args, "--hold=0s") || !slices.Contains(one.Args, "--member=$(POD_NAME)"):
		t.Errorf("an update leaves tasks alone until a pod is back: %q", one.Args)
	case *pod.SecurityContext.RunAsUser != 65532 || !*pod.SecurityContext.RunAsNonRoot ||
		!*one.SecurityContext.ReadOnlyRootFilesystem || *one.SecurityContext.AllowPrivilegeEscalation:
		t.Error("it has rights that it does not need")
	case o.budget.Spec.MaxUnavailable.IntValue() != 1 ||
		o.budget.Spec.Selector.MatchLabels["app.kubernetes.io/instance"] != "weather":
		t.Errorf("the budget is %+v", o.budget.Spec)
	case one.ReadinessProbe == nil || one.StartupProbe == nil ||
		!slices.Contains(one.LivenessProbe.Exec.Command, "--live"):
		t.Error("a probe is missing")
	case o.set.Spec.ServiceName != o.service.Name || o.service.Spec.ClusterIP != "None" ||
		*pod.AutomountServiceAccountToken:
		t.Error("the service is not that of the set, or a pod has a token")
	}
	for key, want := range o.set.Spec.Selector.MatchLabels { // order-free: each by itself
		if o.set.Spec.Template.Labels[key] != want || o.service.Spec.Selector[key] != want {
			t.Errorf("the label %s is not that of the pods", key)
		}
	}
	grace := int64(30)
	if v["drainTimeout"] == "45s" {
		grace = 65
	}
	if *pod.TerminationGracePeriodSeconds != grace {
		t.Errorf("a pod has %d s to drain, want %d", *pod.TerminationGracePeriodSeconds, grace)
	}
	mounted := map[string]bool{}
	for _, m := range one.VolumeMounts {
		mounted[m.Name] = true
	}
	for _, volume := range pod.Volumes {
		if !mounted[volume.Name] {
			t.Errorf("nothing uses the volume %s", volume.Name)
		}
		delete(mounted, volume.Name)
	}
	for _, claim := range o.set.Spec.VolumeClaimTemplates {
		delete(mounted, claim.Name)
	}
	if len(mounted) > 0 {
		t.Errorf("no volume for %v", mounted)
	}
	if !strings.Contains(o.notes, "port-forward weather-rota-0 7600") {
		t.Errorf("the notes are %q", o.notes)
	}
}

// TestChartOfANetwork: who may reach the API, and how a Prometheus reads the metrics.
func TestChartOfANetwork(t *testing.T) {
	t.Parallel()
	closed := values{"store": "etcd://e/r",
		"networkPolicy": values{"enabled": true, "from": []any{values{"podSelector": values{}}}}}
	o, err := render(t, closed)
	if err != nil || o.network == nil || o.scraped != nil || len(o.network.Spec.Ingress) > 0 ||
		len(o.network.Spec.PolicyTypes) != 1 {
		t.Fatalf("an API on loopback lets nobody in: %+v, %v", o.network, err)
	}
	more := values{"serviceMonitor": values{"enabled": true, "labels": values{"release": "prom"}}}
	for k, v := range closed { // order-free: into a map
		more[k] = v
	}
	if o, err = render(t, opened(more)); err != nil || o.scraped == nil {
		t.Fatalf("%+v, %v", o.scraped, err)
	}
	in := o.network.Spec.Ingress
	if len(in) != 1 || len(in[0].From) != 1 || in[0].From[0].PodSelector == nil ||
		in[0].Ports[0].Port.StrVal != o.service.Spec.Ports[0].Name {
		t.Errorf("the policy is %+v", in)
	}
	at := o.scraped.Spec.Endpoints
	if len(at) != 1 || at[0].Port != "api" || at[0].Path != "/metrics" || at[0].Scheme != "https" ||
		at[0].Interval != "30s" ||
		at[0].Authorization.Credentials.Name != "token" || at[0].Authorization.Credentials.Key != "token" ||
		at[0].TLS.CA.Secret.Name != "tls" || at[0].TLS.CA.Secret.Key != "ca.crt" ||
		at[0].TLS.ServerName != o.service.Name+".checks.svc" {
		t.Errorf("the monitor reads %+v", at)
	}
	for key, want := range o.service.Spec.Selector { // order-free: each by itself
		if o.network.Spec.PodSelector.MatchLabels[key] != want || o.scraped.Spec.Selector.MatchLabels[key] != want ||
			o.service.Labels[key] != want {
			t.Errorf("the label %s is not that of the pods and the service", key)
		}
	}
	if o.scraped.Metadata.Labels["release"] != "prom" {
		t.Errorf("its labels are %v", o.scraped.Metadata.Labels)
	}
}

// TestChartRefuses what would not work.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]values{
		"say where the members meet":          {},
		"a file store is for one machine":     {"store": "file:/data/x"},
		"both tlsSecret and tokenSecret.name": {"store": "etcd://e/r", "api": values{"tlsSecret": "tls"}},
		"api.usersSecret: tlsSecret": {"store": "etcd://e/r",
			"api": values{"usersSecret": values{"name": "people"}}},
		"serviceMonitor: a Prometheus":    {"store": "etcd://e/r", "serviceMonitor": values{"enabled": true}},
		"additional properties 'replica'": {"store": "etcd://e/r", "replica": 2},
		"at '/replicas'":                  {"store": "etcd://e/r", "replicas": 0},
		"at '/ttl'":                       {"store": "etcd://e/r", "ttl": "soon"},
		"at '/protocol'":                  {"store": "etcd://e/r", "protocol": "raft"},
		"'a.txt' does not match":          {"store": "etcd://e/r", "tasks": values{"a.txt": "x"}},
	} {
		if _, err := render(t, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", v, err, want)
		}
	}
}

// TestPodRuns runs what the chart says, on this machine: the arguments are those of a member that joins, and the probes
// find it ready.
func TestPodRuns(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]values{
		"loopback": {"store": "etcd://e/r", "tasks": values{"a.yaml": "type: noop\nevery: 1s\n"}},
		"network": opened(values{"store": "etcd://e/r", "tasks": values{"a.yaml": "type: noop\nevery: 1s\n"},
			"persistence": values{"enabled": true}}),
		"users": {"store": "etcd://e/r", "tasks": values{"a.yaml": "type: noop\nevery: 1s\n"}, "api": withUsers()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, port := t.TempDir(), freePort(t)
			v["api"] = merged(v["api"], "port", port)
			o, err := render(t, v)
			succeed(t, err)
			mount(t, dir, o.tasks.Data)
			if name == "users" {
				mountUsers(t, dir, &o)
			}
			here := strings.NewReplacer("/etc/rota", dir, "/usr/bin/rota", rota, "$(POD_NAME)", "weather-rota-0",
				"/data", dir, "0.0.0.0", "127.0.0.1")
			one := o.set.Spec.Template.Spec.Containers[0]
			command := func(args []string) *exec.Cmd {
				words := make([]string, len(args))
				for i, a := range args {
					words[i] = here.Replace(a)
				}
				cmd := exec.Command(words[0], words[1:]...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "ROTA_STORE=file:"+filepath.Join(dir, "store"))
				return cmd
			}
			member := start(t, command(append([]string{"/usr/bin/rota"}, one.Args...)))
			member.awaitSaid(t, "joined as the first member")
			for _, probe := range []*core.Probe{one.StartupProbe, one.ReadinessProbe, one.LivenessProbe} {
				if out := must(t, command(probe.Exec.Command)); !strings.HasPrefix(out, "ok") {
					t.Errorf("%q says %q", probe.Exec.Command, out)
				}
			}
			await(t, "the task runs", func() bool {
				return strings.Contains(must(t, command([]string{"/usr/bin/rota", "task", "list"})), "weather-rota-0")
			})
			if name == "users" {
				askAsUser(t, dir, "https://127.0.0.1:"+port)
			}
			member.leave(t)
			if out, err := command(one.ReadinessProbe.Exec.Command).CombinedOutput(); err == nil {
				t.Errorf("it is ready after it has left: %s", out)
			}
		})
	}
}

// mountUsers lays the file of users where a pod has it, with the mode of the volume: a member refuses one that others
// may read.
func mountUsers(t *testing.T, dir string, o *objects) {
	t.Helper()
	for _, v := range o.set.Spec.Template.Spec.Volumes {
		if v.Name != "users" {
			continue
		}
		path := filepath.Join(dir, "users", v.Secret.Items[0].Path)
		line := fmt.Sprintf("ann read sha256:%x\n", sha256.Sum256([]byte("hunter2")))
		succeed(t, errors.Join(os.Mkdir(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(line), 0o600),
			os.Chmod(path, os.FileMode(*v.Secret.DefaultMode))))
		return
	}
	t.Fatal("no volume has the users")
}

// askAsUser asks the API as ann, who may look and nothing more.
func askAsUser(t *testing.T, dir, at string) {
	t.Helper()
	cert, err := os.ReadFile(filepath.Join(dir, "tls", "tls.crt"))
	succeed(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "rota.example.org"}}}
	for method, want := range map[string]int{http.MethodGet + " /v1/status": http.StatusOK,
		http.MethodPost + " /v1/pause?job=a": http.StatusForbidden} {
		verb, path, _ := strings.Cut(method, " ")
		r, err := http.NewRequestWithContext(t.Context(), verb, at+path, nil)
		succeed(t, err)
		r.Header.Set("Authorization", "Bearer hunter2")
		answer, err := client.Do(r)
		succeed(t, err)
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", method, answer.Status, want)
		}
	}
}

func merged(old any, key, port string) values {
	out := values{}
	if m, ok := old.(values); ok {
		out = m
	}
	n := 0
	for _, digit := range port {
		n = 10*n + int(digit-'0')
	}
	out[key] = n
	return out
}

// mount lays files where a pod has them: those of a config map are links below ..data, as Kubernetes makes them.
func mount(t *testing.T, dir string, tasks map[string]string) {
	t.Helper()
	for _, d := range []string{"tasks/..2026_11_22", "tls", "token"} {
		succeed(t, os.MkdirAll(filepath.Join(dir, d), 0o750))
	}
	files := map[string]string{"token/token": "open-sesame"}
	files["tls/tls.crt"], files["tls/tls.key"] = certificate(t)
	for name, text := range tasks { // order-free: into a map
		files["tasks/..2026_11_22/"+name] = text
		succeed(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, "tasks", name)))
	}
	succeed(t, os.Symlink("..2026_11_22", filepath.Join(dir, "tasks", "..data")))
	for name, text := range files { // order-free: each by itself
		succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

// certificate is of a name that a probe does not ask by.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	succeed(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "rota"},
		DNSNames: []string{"rota.example.org"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	succeed(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(k)
	succeed(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// TestInstallOnKubernetes: the address that README sets is the one that the chart gets. A comma divides settings.
func TestInstallOnKubernetes(t *testing.T) {
	t.Parallel()
	typed := regexp.MustCompile(`--set '([^']+)'`).FindStringSubmatch(read(t, "README.md"))
	if typed == nil {
		t.Fatal("README sets no store")
	}
	values, err := strvals.Parse(typed[1])
	succeed(t, err)
	if values["store"] != "zookeeper://zk-0.zk,zk-1.zk/weather" {
		t.Errorf("the chart gets %v", values)
	}
}
