"""All the constructions of the lesson, and how many training pairs each contributes."""

from __future__ import annotations

from collections.abc import Callable

from lesson.constructions import (
    actions,
    aiming,
    asking,
    clock,
    describing,
    embedding,
    having,
    joining,
    people,
    pronouns,
    resolving,
    short,
    world,
)
from lesson.dice import Dice
from lesson.phrases import Both

Construction = Callable[[Dice], Both]

CONSTRUCTIONS: dict[Construction, int] = {
    # What people and animals do.
    actions.action: 5200,
    actions.denied_action: 2600,
    actions.already_or_never: 2000,
    actions.staying: 1800,
    actions.used_to: 900,
    actions.since: 700,
    actions.going: 1400,
    actions.alone: 1200,
    actions.habit: 2200,
    actions.denied_habit: 1600,
    actions.nothing_and_nobody: 800,
    # What things and people are like.
    describing.quality: 2700,
    describing.mood: 1200,
    describing.two_qualities: 1000,
    describing.comparison: 1600,
    describing.superlative: 1000,
    describing.this_is: 1300,
    describing.trade: 900,
    # What there is and what one has.
    having.having: 1400,
    having.there_is: 1800,
    having.where_it_is: 1000,
    having.whose: 500,
    having.measured: 600,
    having.needing: 800,
    having.fearing: 500,
    # People.
    people.age: 500,
    people.feeling: 600,
    people.body: 500,
    people.looks: 350,
    people.taste: 1000,
    people.pastime: 500,
    people.modal: 1800,
    people.name: 250,
    # The world, and numbers.
    world.weather: 450,
    world.abroad: 800,
    world.nationality: 700,
    clock.clock: 200,
    clock.timetable: 800,
    clock.calendar: 450,
    clock.sum_: 300,
    clock.price: 500,
    # Questions, requests, orders.
    asking.yes_or_no: 1800,
    asking.question_word: 1300,
    asking.what: 500,
    asking.who: 1000,
    asking.how_many: 600,
    asking.which: 600,
    asking.where_is: 400,
    asking.order: 1500,
    asking.request: 1000,
    asking.wish: 600,
    asking.addressed: 1500,
    # Clauses joined, and clauses inside others.
    joining.mood_because: 1000,
    joining.absence_because: 700,
    joining.when_suddenly: 1000,
    joining.while_: 800,
    joining.when_it_will: 700,
    joining.if_: 800,
    joining.if_only: 700,
    aiming.in_vain: 900,
    aiming.in_order_to: 800,
    aiming.before_doing: 700,
    embedding.opinion: 1400,
    embedding.hope: 600,
    embedding.the_one_who: 1200,
    embedding.the_one_that: 1600,
    embedding.the_place_where: 500,
    embedding.made_by: 1000,
    # Pronouns whose noun is in the sentence, and those that only meaning can settle.
    pronouns.chain: 1800,
    pronouns.where_it_went: 800,
    pronouns.and_it_is: 1500,
    pronouns.each_other: 1000,
    pronouns.giving: 1000,
    pronouns.when_they_came: 700,
    pronouns.company: 600,
    pronouns.and_two: 350,
    pronouns.going_there: 450,
    resolving.what_it_means: 9000,
    resolving.he_or_it: 1600,
    resolving.pouring: 500,
    resolving.so_it_did_not: 1800,
    # Short things.
    short.fragment: 1800,
    short.greeting: 800,
    short.plainly: 2400,
    short.counting: 90,
}
