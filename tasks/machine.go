package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
)

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
