"""Fake peers: one side of one protocol as a stand-alone program, for tests in any language.

A *fake* is an entry of the gateway with a hub of its own: the same adapter, driver and
journal. Its *front end* speaks JSON lines on standard input and output: *operations* come
in and are *answered*; what happens meanwhile goes out as *event lines*. A *controller*
(such as an agency client) starts runs; a *daemon* (such as an rvbox client) executes them.
"""
