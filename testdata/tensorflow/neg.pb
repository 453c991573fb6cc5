
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

NegNegx0*
T0
"
IdentityIdentityNeg*
T0"ª