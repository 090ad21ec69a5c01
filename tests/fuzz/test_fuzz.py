"""A fixed part of the random programs; `make fuzz` runs as many as wanted."""

import pytest

from fuzz.__main__ import Campaign
from fuzz.modes import PLANS

BATCH, BATCHES = 32, 4


@pytest.mark.slow
@pytest.mark.parametrize("number", range(BATCHES))
def test_random_programs(number):
    campaign = Campaign(",".join(PLANS), shrink=0)
    campaign.batch(number * BATCH, BATCH)
    assert sum(campaign.ran.values()) == BATCH and campaign.captured >= BATCH - 1
    assert not campaign.failures
