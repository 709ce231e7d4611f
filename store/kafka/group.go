package kafka

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// The type of our groups. A group has one type: that of its first member.
const (
	groupType     = "rota"
	groupProtocol = "rota-1"
)

// group speaks the classic group protocol, request by request.
type group struct {
	line     *line
	id       string
	readOnly bool
}

// enter begins a call: one that waits for others has no other bound than ctx.
func (g *group) enter(
	ctx context.Context, begin func(context.Context) (context.Context, func(), error),
) (context.Context, func(), error) {
	if g.readOnly {
		return nil, nil, store.ErrReadOnly
	}
	return begin(ctx)
}

// JoinGroup implements store.Group. It waits for the other members.
func (g *group) JoinGroup(ctx context.Context, r store.JoinRequest) (_ store.Membership, err error) {
	defer driver.Wrap(&err, "join group %s", g.id)
	m := store.Membership{Seat: store.Seat{ID: r.ID}}
	ctx, leave, err := g.enter(ctx, g.line.life.Enter)
	if err != nil {
		return m, err
	}
	defer leave()
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = g.id, r.ID, groupType
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = millis(r.Session), millis(r.Rebalance)
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = groupProtocol, bytes.Clone(r.Data)
	req.Protocols = []kmsg.JoinGroupRequestProtocol{p}
	for {
		resp, err := request[*kmsg.JoinGroupResponse](ctx, g.line.client, req)
		if err != nil {
			return m, changeError(err)
		}
		m.ID = cmp.Or(resp.MemberID, req.MemberID)
		if resp.ErrorCode == kerr.MemberIDRequired.Code { // the broker has given an ID, and wants to see it
			req.MemberID = resp.MemberID
			if r.Given != nil {
				r.Given(resp.MemberID)
			}
			continue
		}
		if err := g.groupError(resp.ErrorCode); err != nil {
			return m, err
		}
		return joined(resp), nil
	}
}

func joined(resp *kmsg.JoinGroupResponse) store.Membership {
	m := store.Membership{Seat: store.Seat{ID: resp.MemberID, Generation: uint64(resp.Generation)},
		Leader: resp.LeaderID}
	if !m.Leads() {
		return m
	}
	for _, member := range resp.Members {
		m.Members = append(m.Members,
			store.GroupMember{ID: member.MemberID, Data: append([]byte{}, member.ProtocolMetadata...)})
	}
	slices.SortFunc(m.Members, func(a, b store.GroupMember) int { return cmp.Compare(a.ID, b.ID) })
	return m
}

// SyncGroup implements store.Group.
func (g *group) SyncGroup(ctx context.Context, s store.Seat, give []store.GroupMember) ([]byte, error) {
	given, err := g.sync(ctx, s, give)
	if err == nil { // since Kafka 4 a Sync that comes after the leader's does not begin the session again
		err = g.heartbeat(ctx, s)
	}
	if err != nil {
		return nil, fmt.Errorf("sync group %s, generation %d: %w", g.id, s.Generation, err)
	}
	return given, nil
}

func (g *group) sync(ctx context.Context, s store.Seat, give []store.GroupMember) ([]byte, error) {
	ctx, leave, err := g.enter(ctx, g.line.life.Enter)
	if err != nil {
		return nil, err
	}
	defer leave()
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = g.id, s.ID, generation(s)
	req.ProtocolType, req.Protocol = kmsg.StringPtr(groupType), kmsg.StringPtr(groupProtocol)
	for _, m := range give {
		one := kmsg.NewSyncGroupRequestGroupAssignment()
		one.MemberID, one.MemberAssignment = m.ID, bytes.Clone(m.Data)
		req.GroupAssignment = append(req.GroupAssignment, one)
	}
	resp, err := request[*kmsg.SyncGroupResponse](ctx, g.line.client, req)
	if err != nil {
		return nil, changeError(err)
	}
	return append([]byte{}, resp.MemberAssignment...), g.groupError(resp.ErrorCode)
}

// Heartbeat implements store.Group.
func (g *group) Heartbeat(ctx context.Context, s store.Seat) error {
	if err := g.heartbeat(ctx, s); err != nil {
		return fmt.Errorf("heartbeat in generation %d of group %s: %w", s.Generation, g.id, err)
	}
	return nil
}

func (g *group) heartbeat(ctx context.Context, s store.Seat) error {
	ctx, leave, err := g.enter(ctx, g.line.call)
	if err != nil {
		return err
	}
	defer leave()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = g.id, s.ID, generation(s)
	resp, err := request[*kmsg.HeartbeatResponse](ctx, g.line.client, req)
	if err != nil {
		return changeError(err)
	}
	return g.groupError(resp.ErrorCode)
}

// LeaveGroup implements store.Group.
func (g *group) LeaveGroup(ctx context.Context, id string) error {
	if err := g.leave(ctx, id); err != nil && !errors.Is(err, store.ErrSession) {
		return fmt.Errorf("leave group %s: %w", g.id, err)
	}
	return nil
}

func (g *group) leave(ctx context.Context, id string) error {
	if id == "" {
		return errors.New("the ID is empty: give the one that JoinGroup returned")
	}
	ctx, leave, err := g.enter(ctx, g.line.call)
	if err != nil {
		return err
	}
	defer leave()
	one := kmsg.NewLeaveGroupRequestMember()
	one.MemberID = id
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID, req.Members = g.id, id, []kmsg.LeaveGroupRequestMember{one}
	resp, err := request[*kmsg.LeaveGroupResponse](ctx, g.line.client, req)
	if err != nil {
		return changeError(err)
	}
	code := resp.ErrorCode
	if code == 0 && len(resp.Members) == 1 {
		code = resp.Members[0].ErrorCode
	}
	return g.groupError(code)
}

// groupError gives a coordinator's answer its meaning.
func (g *group) groupError(code int16) error {
	err := kerr.ErrorForCode(code)
	switch code {
	case 0:
		return nil
	case kerr.RebalanceInProgress.Code:
		return fmt.Errorf("%w: %w", store.ErrRebalance, err)
	case kerr.IllegalGeneration.Code:
		return fmt.Errorf("%w: %w", store.ErrGeneration, err)
	case kerr.UnknownMemberID.Code, kerr.GroupIDNotFound.Code: // a group that nobody is in is forgotten
		return fmt.Errorf("%w: %w", store.ErrSession, err)
	case kerr.GroupAuthorizationFailed.Code:
		return fmt.Errorf("%w: the user may not use group %s: %w: try %s", store.ErrUnavailable, g.id, err,
			aclCommand("group", g.id))
	case kerr.InconsistentGroupProtocol.Code, kerr.InvalidGroupID.Code:
		return fmt.Errorf("%w: group %s is one of consumers, or of another program: %w: try another name",
			store.ErrUnavailable, g.id, err)
	case kerr.InvalidSessionTimeout.Code:
		return fmt.Errorf("%w: %w: the brokers do not allow this session: %w: try one from group.min.session.timeout.ms to group.max.session.timeout.ms",
			store.ErrUnavailable, store.ErrTTL, err)
	}
	return fmt.Errorf("%w: group %s: %w", store.ErrUnavailable, g.id, err)
}

func generation(s store.Seat) int32 {
	return int32(min(s.Generation, 1<<31-1)) // a greater one does not exist
}

func millis(d time.Duration) int32 { return int32(min(d.Milliseconds(), 1<<31-1)) }
