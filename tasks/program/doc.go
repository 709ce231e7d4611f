// Package program runs programs and ends all that they have started.
//
// # Purpose
//
// A program that a task starts may start others: a script and its commands, a server that goes into the background. When the task ends, none of them may
// go on beside the next owner of the task. A [Room] runs the programs of one process and ends what each of them leaves. [EndAll] does the same from another
// process, after the owner of the room has died: it needs the room's [Place] alone.
//
// # Guarantees
//
// Where the process may make control groups of version 2, each program runs in one of its own, and the kernel ends all that is in it: also what has begun a
// session of its own, what was started by a process that has ended, and what has cleared its environment.
//
// Elsewhere each program gets a mark in its environment, which all that it starts inherits. At the end of a program these processes and their descendants are
// killed until none is left.
//
// Run returns, and EndAll succeeds, only when nothing is left.
//
// # What is not guaranteed
//
// Without control groups, a process escapes that has cleared its environment, has a process group of its own, and whose parent has ended. Processes of
// another user (sudo) cannot be killed. What a program asks others to start, such as the system's service manager, is not its own.
//
// # Failures
//
// Where the owner and its guardian die at the same moment, the programs themselves die with their owner (parent-death signal); what they have started goes
// on until another room below the same control group is made, or runs a program, which ends it first. Programs can be run on Linux alone.
//
// # Where it comes from
//
// Control groups with one write that kills all are how systemd ends a service; the mark in the environment is how build servers find what a build has left.
package program
