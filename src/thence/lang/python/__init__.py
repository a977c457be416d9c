"""Programs as Python objects: events, patterns and definitions, with operators and methods.

Everything that the rule language says can be said here, and gives the same program. What is
imported under its own name is public as an attribute of ``thence``.
"""

from __future__ import annotations

from thence.lang.python import fn as fn
from thence.lang.python import moments as moments
from thence.lang.python.events import Event as Event
from thence.lang.python.events import Table as Table
from thence.lang.python.events import derived as derived
from thence.lang.python.events import event as event
from thence.lang.python.events import relation as relation
from thence.lang.python.events import table as table
from thence.lang.python.facts import fact as fact
from thence.lang.python.pattern_functions import absent as absent
from thence.lang.python.pattern_functions import all_of as all_of
from thence.lang.python.pattern_functions import any_of as any_of
from thence.lang.python.pattern_functions import anyone as anyone
from thence.lang.python.pattern_functions import at as at
from thence.lang.python.pattern_functions import both as both
from thence.lang.python.pattern_functions import collect as collect
from thence.lang.python.pattern_functions import follows as follows
from thence.lang.python.pattern_functions import notfollows as notfollows
from thence.lang.python.pattern_functions import notprecedes as notprecedes
from thence.lang.python.pattern_functions import precedes as precedes
from thence.lang.python.pattern_functions import sequence as sequence
from thence.lang.python.pattern_functions import ticks as ticks
from thence.lang.python.patterns import Definition as Definition
from thence.lang.python.patterns import Pattern as Pattern
from thence.lang.python.reactions import Reaction as Reaction
from thence.lang.python.reactions import call as call
from thence.lang.python.reactions import on as on
from thence.lang.python.reactions import post as post
from thence.lang.python.table_changes import delete as delete
from thence.lang.python.table_changes import insert as insert
from thence.lang.python.values import Attribute as Attribute
from thence.lang.python.values import Value as Value
from thence.lang.python.values import var as var
