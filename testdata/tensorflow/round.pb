
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

RoundRoundx0*
T0
$
IdentityIdentityRound*
T0"ª