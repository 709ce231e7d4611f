package tasks
