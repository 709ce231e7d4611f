// Package schedule decides placement and the sharing of slots: pure functions of integers and sorted lists.
//
// # Purpose
//
// Place reads a View (members, classes of equal items, current owners) and returns which items should get, change or
// lose their owner. Explain says why an item has no owner. Table is a View of flat arrays, for planning from scratch.
//
// Allocate reads a Pool (jobs, their tasks, slots) and returns which slots change hands. A slot is room for one
// exclusive piece of work, and the slots of a task are interchangeable. WhyJob, WhyTask and WhyIdle of an Allocation
// say why a job or task has no slot, or why slots are idle.
//
// # Guarantees
//
// Equal content gives equal plans, in whatever order the view was built; ties go to the lower load, then the lower ID.
// No floats, no clock.
//
// Rules: no item goes to a member that is draining, is full, lacks a label of the selector or the label to spread over,
// or is not the pinned one. An item on a member that the rules no longer allow is moved, or revoked if no member may
// own it. An item on a draining member is moved, or stays if no other member may own it.
//
// Even: load is the weight of the items of a member, over all classes; share is load over weight of the member. The
// plan ends when no move of an item can lower the higher of the two shares. So with one class, two members with room
// differ by at most one item, as the weights count it; with items of several weights, by at most the heaviest item of
// the more loaded one. If classes allow different members, no chain of moves of items of one weight helps either (a
// gives to b what b may own, b gives to c what c may own). Without capacities and with one weight of items this optimum
// is global, not only local.
//
// Spread: the items of a class with SpreadOver differ by at most one between any two values of the label that have a
// member with room; within that, shares are even.
//
// Least movement: with one class and no rules the number of owned items that move is the least that any even plan
// needs. A leave moves only what the member owned, a join takes only what evens the load. After a plan has been carried
// out, the next is empty.
//
// Placement: an item stays without an owner only if every member that may own it is full, and no chain of moves can
// make room.
//
// Budget: items without an owner are always placed. Of the moves of owned items the plan starts as many as the budget
// allows, forced ones first. Deferred counts the others. Consecutive plans within any budget above zero end where a
// plan without a limit would find nothing more to do.
//
// Cost: O(members + cells + moves × log members) for one set of rules, where a cell is a member with items of a class;
// with several overlapping sets of rules, that many times over, once for each chain. The planner does not read all
// items: it stops Owned and Unplaced as soon as it knows enough.
//
// # Guarantees for slots
//
// Whole: the shares of the jobs add up to all usable slots, or to all that the jobs can use; none is above the max of a
// task.
//
// Jobs: greedy gives the first job in order all slots that it can use, then the next. Round-robin gives P div J to each
// of J jobs, and one more to the first P mod J; what a job cannot use is distributed again. Percentage gives the exact
// shares rounded down, then by the largest remainder, then to the job that is furthest below its share (jobs without a
// percentage have the share zero). Tasks: the same three, over the unfinished tasks of a job in the order of its
// workflow; their minima come first, as far as the slots go.
//
// Coverage: a protected job has the minimum of each of its unfinished tasks (one by default), or nothing. Round-robin
// and percentage give these minima, in the turns of the jobs, before any job gets more; so a later job never uncovers a
// running one. A job whose minimum does not fit blocks no other job: others go first, and its turn comes after theirs.
//
// Least movement: the sizes of the shares as a whole do not depend on the present holders. Which of several equal
// claims gets the larger share does: the one with which the fewest slots leave their tasks, and then the older job or
// the earlier task. A task gives up its newest slot first. After a plan has been carried out, the next is empty.
//
// Spread: of the available slots, a task gets those on members where it has the fewest, then those on members with the
// most left. If most are still busy, each free slot goes to the task that has the fewest on its member.
//
// Cost: O(jobs + tasks + moves × log members), and a sort of the parts that are not sorted yet.
//
// # What is not guaranteed
//
// With several sets of rules, several item weights, or spreading, the number of moves is kept low (the widest gap
// first, heavy items first, items that the plan itself moved before resting ones) but is not proved least. The planner
// does not look for chains through items of different weights, nor across the values of a label. Items that are in
// hand-over or held do not move, and the rest is evened around them. If the budget is smaller than the length of a
// chain, the plan moves only the first part, which evens nothing until the next plan. Deferred is what the plan would
// do next if nothing changed meanwhile.
//
// Slots are not moved to spread a task better. A covered job loses no slot to a later job, but an unprotected job
// may shrink to one slot, or to its percentage rounded down, for the minima of protected ones.
//
// # Failures
//
// There are none: any view gives a plan. A view that contradicts itself (a Count without items, a wrong Load) gives a
// plan that is even by its figures. Sums of weights must fit in 47 bits for the best order of work.
//
// # Where it comes from
//
// The rule for the next item is the method of D'Hondt for dividing seats. The absence of a chain of moves is the
// condition for an optimal semi-matching (Harvey, Ladner, Lovász, Tamir: Semi-matchings for bipartite graphs and load
// balancing, 2003). The schedulers of jobs and tasks, partial coverage protection and the examples in testdata/slots
// are those of the source document "The Cluster as a Value".
package schedule
