"""A program that runs in the sandbox before a command: it listens on loopback there and passes each
connection on to a named socket.

It is in Perl, as the one that puts on Landlock's rules is: Python takes ten times as long to start, and each
command waits for this.
"""

from typing import Final

PERL: Final = "/usr/bin/perl"
"""What runs the programs that a job starts with, inside."""

# The numbers are those of the kernel (AF_INET, AF_UNIX, SOCK_STREAM, SO_REUSEADDR): the module that names
# them starts slowly.
# One process a connection; the last ones to go are killed with the sandbox.
_PROGRAM: Final = r"""
my ($name, $port, @command) = @ARGV;
my $listener;
socket($listener, 2, 1, 0) && setsockopt($listener, 1, 2, 1)
  && bind($listener, pack("S n C4 x8", 2, $port, 127, 0, 0, 1))
    && listen($listener, 128) or die "the way out cannot be opened: $!\n";
defined(my $child = fork) or die "the way out cannot be opened: $!\n";
leave() unless $child;
waitpid($child, 0);
close $listener;
exec { $command[0] } @command or do { print STDERR "$command[0]: $!\n"; exit 127 };

sub leave {
    exit 0 if fork;
    setpgrp;
    open(STDIN, "<", "/dev/null"), open(STDOUT, ">", "/dev/null"), open(STDERR, ">", "/dev/null");
    $SIG{CHLD} = $SIG{PIPE} = "IGNORE";
    while (1) {
        accept(my $near, $listener) or next;
        exit copy($near) unless fork;
    }
}

sub copy {
    my ($near, $far) = @_;
    socket($far, 1, 1, 0) && connect($far, pack("S Z108", 1, $name)) or return 1;
    my %pairs = (fileno $near, [$near, $far], fileno $far, [$far, $near]);
    while (%pairs) {
        my $wanted = "";
        vec($wanted, $_, 1) = 1 for keys %pairs;
        select($wanted, undef, undef, undef);
        for my $number (grep { vec($wanted, $_, 1) } keys %pairs) {
            my ($source, $peer) = @{ $pairs{$number} };
            my $length = sysread($source, my $data, 65536);
            for (my $at = 0; $at < ($length // 0); ) {
              $at += syswrite($peer, $data, $length - $at, $at) or return 1 }
            delete $pairs{$number}, shutdown($peer, 1) unless $length;
        }
    }
    return 0;
}
"""


def wrap(argv: tuple[str, ...], *, socket: str, port: int) -> tuple[str, ...]:
    """The argv that opens the way, leaves it open behind itself, and becomes `argv`."""
    return (PERL, "-e", _PROGRAM, socket, str(port), *argv)
