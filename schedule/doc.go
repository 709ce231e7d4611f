// Package schedule decides who gets what: pure functions of integers and sorted lists.
//
// # Purpose
//
// Place reads a View (members, classes of items that are alike, who owns what) and says which items should get, change or lose their
// owner. Explain says why an item has none. Table is a View of flat arrays, for planning from scratch.
//
// Allocate reads a Pool (jobs, their tasks, slots) and says which slots change hands. A slot is room for one exclusive piece of work, and
// the slots of a task are interchangeable. WhyJob, WhyTask and WhyIdle of an Allocation say why something has none.
//
// # Guarantees
//
// Same content, same plan, in whatever order the view was built; ties go to the lower load, then the lower ID. No floats, no clock.
//
// Rules: no item goes to a member that is draining, is full, lacks a label of the selector or the label to spread over, or is not the pinned
// one. An item on a member that the rules no longer allow is moved, or taken away if there is nowhere to go. An item on a draining member is
// moved, or stays if there is nowhere to go.
//
// Even: load is the weight of the items of a member, over all classes; share is load over weight of the member. The plan ends where no
// item can be moved so that the higher of the two shares gets lower. So with one class, two members with room differ by at most one item,
// as the weights count it; with items of several weights, by at most the heaviest item that the more loaded one has. Where classes
// allow different members, neither does a chain of moves of items of one weight help (a gives to b what b may own, b gives
// to c what c may own). Without capacities and with one weight of items that is the best there is, not only a local one.
//
// Spread: the items of a class with SpreadOver differ by at most one between any two values of the label that have a member with room;
// shares are evened within that.
//
// Least movement: with one class and no rules the number of owned items that move is the least that any even plan needs. A leave
// moves only what was owned, a join takes only what evens. After a plan has been carried out, the next is empty.
//
// Placement: an item stays without an owner only if every member that may own it is full, and no chain of moves can make room.
//
// Budget: items without an owner are always placed. Of the moves of owned items the plan starts as many as the budget allows, first
// those that must leave. Deferred counts the others. Plans within any budget above zero, one after another, come to rest where a
// plan without a limit would find nothing more to do.
//
// Cost: O(members + cells + moves × log members) for one set of rules, where a cell is a member that has items of a class; with several
// overlapping sets of rules, that many times over, once for each chain. The items themselves are not gone through: Owned and
// Unplaced are stopped as soon as enough is known.
//
// # Guarantees for slots
//
// Whole: the shares of the jobs come to all usable slots, or to all that the jobs can use; none is above the max of a task.
//
// Jobs: greedy gives all to the first job in order as far as it can use them, then to the next. Round-robin gives P div J to each of J jobs,
// and one more to the first P mod J; what a job cannot use goes round again. Percentage gives what is due rounded down, then by the
// largest remainder, then to the job that is furthest below its share (jobs without a percentage have the share zero). Tasks: the same
// three, over the unfinished tasks of a job in the order of its workflow; their minima come first, as far as the slots go.
//
// Coverage: a protected job has the minimum of each of its unfinished tasks (one, where none is said), or nothing. Round-robin and
// percentage give these minima, in the turns of the jobs, before anybody has more; so who comes later never uncovers who runs. A job
// whose minimum does not fit blocks nobody: others go ahead, and it comes back behind them.
//
// Least movement: what the shares are as a whole does not depend on who holds what. Which of several equal claims has the larger share does:
// that is chosen so that the fewest slots leave their tasks, and then for the older job or the earlier task. Who leaves a task is the slot
// that came last. After a plan has been carried out, the next is empty.
//
// Spread: of the slots that can be given, a task gets those on members where it has the fewest, then those on members with the most left.
// Where most are still busy, each that is free goes to the task that has the fewest on its member.
//
// Cost: O(jobs + tasks + moves × log members), and a sort of what was never sorted.
//
// # What is not guaranteed
//
// With several sets of rules, several item weights, or spreading, the number of moves is kept low (the widest gap first, heavy items
// first, what the plan itself moved before what rests) but is not proved least. A chain is not sought through items of different
// weights, nor across the values of a label. Items that are in hand-over or held stay where they are, and the rest is evened around them.
// With a budget smaller than a chain is long, its first part is done alone, which evens nothing by itself until the next plan.
// Deferred is what the plan would do next if nothing changed meanwhile.
//
// Slots are not moved to spread a task better. A job that was covered loses its slots to nobody behind it, but one that is not protected
// may come down to one slot, or to what is due to it rounded down, for the minima of those that are.
//
// # Failures
//
// There are none: any view gives a plan. A view that contradicts itself (a Count without items, a Load that does not fit) gives a plan
// that is even by what it says. Sums of weights must fit in 47 bits for the order of work to be the best one.
//
// # Where it comes from
//
// The rule for the next item is the method of D'Hondt for dividing seats. That no chain of moves is left is the condition for an optimal
// semi-matching (Harvey, Ladner, Lovász, Tamir: Semi-matchings for bipartite graphs and load balancing, 2003). The schedulers of jobs and
// tasks, partial coverage protection and the examples in testdata/slots are those of the source document "The Cluster as a Value".
package schedule
