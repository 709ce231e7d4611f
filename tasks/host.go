package tasks

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"

	"github.com/rota-run/rota/work"
)

// hostConfig of host. Disks are mount points, default "/"; network are interfaces that are shown one by one, default
// the sum of all but loopback.
type hostConfig struct {
	Disks   []string `json:"disks"`
	Network []string `json:"network"`
}

// hostRunner keeps the counters of the round before, because CPU and network are shown as rates.
type hostRunner struct {
	c      hostConfig
	read   machine
	mu     sync.Mutex
	before hostCounters
}

// hostCounters only grow, until the machine or an interface restarts.
type hostCounters struct {
	at          time.Time
	busy, total float64               // seconds of CPU
	net         map[string]netTraffic // by interface; "" is the sum
}

type netTraffic struct{ received, sent, faults uint64 }

func (o Options) host() work.Type {
	return work.Type{
		Name: "host", Doc: "load, CPU, memory, swap, disks and network of the member's machine", Periodic: true,
		DefaultEvery: defaultEvery,
		New: typed(func(c hostConfig, _ work.Definition, f *faults) work.Runner {
			if c.Disks == nil {
				c.Disks = []string{"/"}
			}
			for i, m := range c.Disks {
				if !filepath.IsAbs(m) {
					f.add(fmt.Sprintf("disks[%d]", i), "give the mount point, such as /var",
						"%q is not an absolute path", m)
				}
			}
			for i, n := range c.Network {
				if n == "" {
					f.add(fmt.Sprintf("network[%d]", i), "leave network out for the sum of all", "empty name")
				}
			}
			return &hostRunner{c: c, read: gopsutil{}}
		}),
	}
}

// Run emits what it can read, and returns the rest as an error.
func (h *hostRunner) Run(ctx context.Context, g *work.Grant) error {
	errs := []error{h.load(ctx, g), h.memory(ctx, g), h.rates(ctx, g)}
	for _, m := range h.c.Disks {
		errs = append(errs, h.disk(ctx, g, m))
	}
	if cut(ctx) {
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}

func (h *hostRunner) load(ctx context.Context, g *work.Grant) error {
	one, five, fifteen, err := h.read.load(ctx)
	if err != nil {
		return fmt.Errorf("read load: %w", err)
	}
	g.Value("host.load1", one, nil)
	g.Value("host.load5", five, nil)
	g.Value("host.load15", fifteen, nil)
	return nil
}

func (h *hostRunner) memory(ctx context.Context, g *work.Grant) error {
	m, err := h.read.memory(ctx)
	if err != nil {
		return fmt.Errorf("read memory: %w", err)
	}
	g.Value("host.memory_total_bytes", float64(m.total), nil)
	g.Value("host.memory_available_bytes", float64(m.available), nil)
	g.Value("host.memory_used_percent", percent(m.total-min(m.available, m.total), m.total), nil)
	g.Value("host.swap_total_bytes", float64(m.swapTotal), nil)
	g.Value("host.swap_used_percent", percent(m.swapUsed, m.swapTotal), nil)
	return nil
}

func (h *hostRunner) disk(ctx context.Context, g *work.Grant, mount string) error {
	d, err := h.read.disk(ctx, mount)
	if err != nil {
		return fmt.Errorf("read disk %s: %w", mount, err)
	}
	tags := map[string]string{"mount": mount}
	g.Value("host.disk_total_bytes", float64(d.total), tags)
	g.Value("host.disk_free_bytes", float64(d.free), tags)
	g.Value("host.disk_used_percent", percent(d.used, d.used+d.free), tags)
	if d.inodes > 0 {
		g.Value("host.disk_inodes_used_percent", percent(d.inodesUsed, d.inodes), tags)
	}
	return nil
}

// rates emits CPU and network since the round before; the first round only remembers.
func (h *hostRunner) rates(ctx context.Context, g *work.Grant) error {
	now, err := h.read.counters(ctx)
	if err != nil {
		return fmt.Errorf("read counters: %w", err)
	}
	h.mu.Lock()
	before := h.before
	h.before = now
	h.mu.Unlock()
	seconds := now.at.Sub(before.at).Seconds()
	if before.at.IsZero() || seconds <= 0 {
		return h.missing(now)
	}
	if total := now.total - before.total; total > 0 && now.busy >= before.busy {
		g.Value("host.cpu_percent", min(100, 100*(now.busy-before.busy)/total), nil)
	}
	for _, name := range h.interfaces() {
		emitTraffic(g, name, before.net, now.net, seconds)
	}
	return h.missing(now)
}

// missing says which of the configured interfaces the machine does not have.
func (h *hostRunner) missing(now hostCounters) error {
	var errs []error
	for _, name := range h.c.Network {
		if _, ok := now.net[name]; !ok {
			errs = append(errs, fmt.Errorf("read network: there is no interface %q", name))
		}
	}
	return errors.Join(errs...)
}

func (h *hostRunner) interfaces() []string {
	if len(h.c.Network) > 0 {
		return h.c.Network
	}
	return []string{""}
}

// emitTraffic skips an interface whose counters went back: it was created again, and the difference is meaningless.
func emitTraffic(g *work.Grant, name string, before, now map[string]netTraffic, seconds float64) {
	a, ok1 := before[name]
	b, ok2 := now[name]
	if !ok1 || !ok2 || b.received < a.received || b.sent < a.sent || b.faults < a.faults {
		return
	}
	var tags map[string]string
	if name != "" {
		tags = map[string]string{"interface": name}
	}
	g.Value("host.net_received_bytes_per_second", float64(b.received-a.received)/seconds, tags)
	g.Value("host.net_sent_bytes_per_second", float64(b.sent-a.sent)/seconds, tags)
	g.Value("host.net_faults_per_second", float64(b.faults-a.faults)/seconds, tags)
}

func percent(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// machine is what the type host reads; a test has another one to make counters go back.
type machine interface {
	load(ctx context.Context) (one, five, fifteen float64, err error)
	memory(ctx context.Context) (memoryUse, error)
	disk(ctx context.Context, mount string) (diskUse, error)
	counters(ctx context.Context) (hostCounters, error)
}

type memoryUse struct{ total, available, swapTotal, swapUsed uint64 }

type diskUse struct{ total, free, used, inodes, inodesUsed uint64 }

// gopsutil reads the machine the process runs on.
type gopsutil struct{}

func (gopsutil) load(ctx context.Context) (one, five, fifteen float64, err error) {
	l, err := load.AvgWithContext(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	return l.Load1, l.Load5, l.Load15, nil
}

func (gopsutil) memory(ctx context.Context) (memoryUse, error) {
	m, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return memoryUse{}, err
	}
	s, err := mem.SwapMemoryWithContext(ctx)
	if err != nil {
		return memoryUse{}, err
	}
	return memoryUse{total: m.Total, available: m.Available, swapTotal: s.Total, swapUsed: s.Used}, nil
}

func (gopsutil) disk(ctx context.Context, mount string) (diskUse, error) {
	u, err := disk.UsageWithContext(ctx, mount)
	if err != nil {
		return diskUse{}, err
	}
	return diskUse{total: u.Total, free: u.Free, used: u.Used, inodes: u.InodesTotal, inodesUsed: u.InodesUsed}, nil
}

func (gopsutil) counters(ctx context.Context) (hostCounters, error) {
	out := hostCounters{at: time.Now(), net: map[string]netTraffic{}}
	times, err := cpu.TimesWithContext(ctx, false)
	if err != nil {
		return out, err
	}
	if len(times) == 0 {
		return out, errors.New("the system shows no CPU times")
	}
	t := times[0]
	// Guest time is part of user time already; waiting for the disk is idle.
	out.total = t.User + t.System + t.Idle + t.Nice + t.Iowait + t.Irq + t.Softirq + t.Steal
	out.busy = out.total - t.Idle - t.Iowait
	all, err := net.IOCountersWithContext(ctx, true)
	if err != nil {
		return out, err
	}
	var sum netTraffic
	for _, c := range all {
		n := netTraffic{received: c.BytesRecv, sent: c.BytesSent, faults: c.Errin + c.Errout + c.Dropin + c.Dropout}
		out.net[c.Name] = n
		if c.Name != "lo" && c.Name != "lo0" {
			sum.received, sum.sent, sum.faults = sum.received+n.received, sum.sent+n.sent, sum.faults+n.faults
		}
	}
	out.net[""] = sum
	return out, nil
}
