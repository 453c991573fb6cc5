
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:
Q
x1Placeholder*
_user_specified_namex1*
dtype0*
shape
:

PowPowx0x1*
T0
"
IdentityIdentityPow*
T0"ª