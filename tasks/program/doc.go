// Package program runs programs and kills all their descendants.
//
// # Purpose
//
// A program that a task starts may start others: a script and its commands, a server that goes into the background.
// When the task ends, none of them may continue beside the next owner of the task. A [Room] runs the programs of one
// process and kills their remaining descendants. [EndAll] does the same from another process, after the owner of the
// room has died: it needs only the room's [Place].
//
// # Guarantees
//
// If the process may create control groups of version 2, each program has its own, and the kernel kills everything in
// it, including processes with their own session, processes whose parent has exited, and processes with a cleared
// environment.
//
// Otherwise each program gets a mark in its environment, which its descendants inherit. At the end of a program these
// processes and their descendants are killed until none is left.
//
// Run returns, and EndAll succeeds, only when no such process is left.
//
// # What is not guaranteed
//
// Without control groups, a process escapes if it has cleared its environment, has its own process group, and its
// parent has exited. Processes of another user (sudo) cannot be killed. Programs that other services start on request,
// such as the system's service manager, are not covered.
//
// # Failures
//
// If the owner and its guardian die at the same moment, the programs themselves die with their owner (parent-death
// signal). Their descendants continue until another room below the same control group is created, or runs a program,
// which kills them first. Programs can be run only on Linux.
//
// # Where it comes from
//
// systemd ends a service by control groups and one write that kills everything; build servers find leftovers of a build
// by a mark in the environment.
package program
