package rota

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// The nouns that users of the library meet; see the packages that they come from.
type (
	// Grant is one partition to work on, under a token, until its context ends. Its methods, which go doc shows with
	// package work (go doc work.Grant.SavePosition): LoadPosition and SavePosition keep how far the work is, for the
	// next owner; Split replaces the partition by others; Emit and Value publish samples; Valid reports whether the
	// lease is valid.
	Grant = work.Grant
	// Type is a task type.
	Type = work.Type
	// Types is a table of them.
	Types = work.Types
	// Item is one input that a partitioner has listed.
	Item = cluster.Item
	// Child is a partition that Grant.Split makes.
	Child = cluster.Child
	// Page is the result of one listing.
	Page = work.Page
	// Token is a fencing token: it grows with every new owner of what it guards.
	Token = cluster.Token
	// Value is the state of the cluster.
	Value = cluster.Value
	// MalformedError is what is wrong with a task: path, line, column, and what to try.
	MalformedError = source.MalformedError
	// NameTakenError says that another process has joined under the name of this member.
	NameTakenError = protocol.NameTakenError
	// EvictedError says that a person has ended this member: Leave returns it when Done is closed.
	EvictedError = protocol.EvictedError
	// OtherProtocolError says that the cluster uses another protocol.
	OtherProtocolError = protocol.OtherProtocolError
	// SizeError refuses a semaphore of another size than the one in use under its name.
	SizeError = lock.SizeError
	// Sample is measured data.
	Sample = publish.Sample
	// Publisher takes samples to a sink.
	Publisher = publish.Publisher
	// Store is what members agree through.
	Store = protocol.Store
	// Protocol is how the members of a cluster agree.
	Protocol = protocol.Protocol
	// Spread says how many partitions a task has.
	Spread = cluster.Spread
	// Handover is the contract under which a partition moves.
	Handover = cluster.Handover
	// CatchUp says what becomes of the rounds that nobody could run.
	CatchUp = work.CatchUp
	// Broker is a queue apart from the store, for the segments of flows. Where it is noted, its Queue and its Place.
	Broker = store.Broker
	// OnStoreLoss says what a running task does when its member cannot reach the store.
	OnStoreLoss = work.OnStoreLoss
)

// The choices of a [Task].
const (
	Single      = cluster.SpreadSingle      // one partition
	Every       = cluster.SpreadEvery       // one on each member
	Partitioned = cluster.SpreadPartitioned // those that Task.Partitions names, and what they split into
	Pool        = cluster.SpreadPool        // one on each slot that the cluster gives to the task; the end of one run is the end of the task

	AtMostOne = cluster.HandoverAtMostOne // the old owner has stopped before the new one starts
	NoGap     = cluster.HandoverNoGap     // the new one runs before the old one stops
	Fast      = cluster.HandoverFast      // switch at once

	CatchUpOnce = work.CatchUpOnce // one round makes up for all that nobody could run
	CatchUpSkip = work.CatchUpSkip // none does
	CatchUpAll  = work.CatchUpAll  // each of them runs, one after the other

	StoreLossStop = work.StoreLossStop // stop it
	StoreLossKeep = work.StoreLossKeep // let it go on, also while another member has it
)

// What stores and positions answer; the errors of this package wrap them.
var (
	ErrUnavailable = store.ErrUnavailable // the store does not answer
	ErrUnknown     = store.ErrUnknown     // the outcome is unknown: the write may have been done, or may be done later
	ErrToken       = work.ErrToken        // SavePosition, Split: the partition has a newer owner
)

// Why a run's context ended; see context.Cause.
var (
	CauseMoved     = work.CauseMoved     // the partition moves to another member
	CauseKilled    = work.CauseKilled    // the job was stopped or changed
	CauseDrained   = work.CauseDrained   // the member is draining or leaving
	CauseLeaseLost = work.CauseLeaseLost // the member cannot prove that it still owns the partition
	CauseShutdown  = work.CauseShutdown  // the process is stopping
)
