"""Workers that run on this machine, and reach the hub without a wire.

A *launch* is how a shell command becomes a program to execute. A *process group* is that
program and its children while they live; signals and ends are for all of them. An
*execution* takes one run from its start order to its end. The *local worker* takes the
hub's orders and keeps one execution a run.
"""
