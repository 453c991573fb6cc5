
Z
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ

SigmoidSigmoidx0*
T0
&
IdentityIdentitySigmoid*
T0"ª