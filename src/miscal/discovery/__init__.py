"""From triples to a run: it joins what other rooms compute; it draws and prints nothing.

In: `Triples` and the settings of a run, or the folder of a finished one.
Out: `RunContent`: summary, tables and saved model, in memory or as a folder.
"""
