"""miscal inside other tools: a module for each, which imports its tool and is imported by nothing else here."""
