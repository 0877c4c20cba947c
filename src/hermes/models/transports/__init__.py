"""Wire protocols, one file each. They describe traffic and do not send it: no I/O, no clock."""
